// The first line of the SDK: client-v1.mts TARGET..., a URL or a command.  Prints what it found as JSON.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [target, ...args] = process.argv.slice(2);
const client = new Client({ name: "client-v1", version: "1" });
await client.connect(
    target.startsWith("http")
        ? new StreamableHTTPClientTransport(new URL(target))
        : new StdioClientTransport({ command: target, args }),
);
const { tools } = await client.listTools(); // from now on it checks results by their schemas
const lines: string[] = [];
const shell: any = await client.callTool(
    { name: "execute_shell", arguments: { command: "for i in 1 2 3; do echo $i; sleep 0.2; done" } },
    undefined,
    { onprogress: (p) => lines.push(p.message ?? "") },
);
const python: any = await client.callTool({ name: "execute_python", arguments: { code: "6 * 7", session: "s" } });
const failed: any = await client.callTool({ name: "sandbox.exec", arguments: { runtime: "sh", code: "sleep 9", timeout_ms: 50 } });
const resources = await client.listResources();
const one: any = await client.readResource({ uri: resources.resources[0].uri });
console.log(
    JSON.stringify({
        tools: tools.length,
        lines,
        stdout: shell.structuredContent.stdout,
        value: python.structuredContent.results[0].data,
        failed: [failed.isError, failed.content[0].text],
        resource: one.contents[0].uri === resources.resources[0].uri,
    }),
);
await client.close();
