// An agent with the MCP SDK for TypeScript: node mcp-agent.mts TASK
// Tools come from `cella mcp`, or from a daemon if CELLA_URL is set.  Needs Node 22.18 or later.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

type Message = { role: string; content: string | null; tool_calls?: ToolCall[]; tool_call_id?: string };
type ToolCall = { id: string; type: "function"; function: { name: string; arguments: string } };

const ROUNDS = 20;
const task = process.argv[2];
if (!task) {
    console.error("usage: node mcp-agent.mts TASK");
    process.exit(2);
}

// Names of functions have no dots in some models' protocols.
const functionName = (tool: string): string => tool.replaceAll(".", "_");

async function askModel(messages: Message[], tools: object[]): Promise<Message> {
    const response = await fetch(`${process.env.MODEL_URL ?? "https://api.openai.com/v1"}/chat/completions`, {
        method: "POST",
        headers: { "Content-Type": "application/json", Authorization: `Bearer ${process.env.MODEL_KEY ?? ""}` },
        body: JSON.stringify({ model: process.env.MODEL_NAME ?? "gpt-4o-mini", messages, tools }),
    });
    if (!response.ok) throw new Error(`the model answered ${response.status}: ${await response.text()}`);
    return ((await response.json()) as { choices: { message: Message }[] }).choices[0].message;
}

const transport = process.env.CELLA_URL
    ? new StreamableHTTPClientTransport(new URL("/mcp", process.env.CELLA_URL))
    : new StdioClientTransport({ command: process.env.CELLA ?? "cella", args: ["mcp"] });
const client = new Client({ name: "mcp-agent", version: "1" }, { versionNegotiation: { mode: "auto" } });
await client.connect(transport);

const { tools } = await client.listTools();
const names = new Map(tools.map((t) => [functionName(t.name), t.name]));
const functions = tools.map((t) => ({
    type: "function",
    function: { name: functionName(t.name), description: t.description, parameters: t.inputSchema },
}));

async function callTool(call: ToolCall): Promise<Message> {
    const name = names.get(call.function.name) ?? call.function.name;
    console.error(`> ${name} ${call.function.arguments}`);
    const result = await client.callTool(
        { name, arguments: JSON.parse(call.function.arguments) },
        { onprogress: (p) => console.error(`  ${p.message ?? p.progress}`), resetTimeoutOnProgress: true },
    );
    const text = result.content.map((c) => (c.type === "text" ? c.text : `[${c.type}]`)).join("\n");
    return { role: "tool", tool_call_id: call.id, content: result.isError ? `error: ${text}` : text };
}

const messages: Message[] = [
    { role: "system", content: client.getInstructions() ?? "" },
    { role: "user", content: task },
];
for (let round = 0; round < ROUNDS; round++) {
    const answer = await askModel(messages, functions);
    messages.push(answer);
    if (!answer.tool_calls?.length) {
        console.log(answer.content);
        break;
    }
    messages.push(...(await Promise.all(answer.tool_calls.map(callTool))));
}
await client.close();
