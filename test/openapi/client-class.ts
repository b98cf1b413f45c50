// swagger-typescript-api: a class with a function for each operation.
import {Api, type Error as ApiError} from "./api.js";

const {v1} = new Api({baseUrl: process.argv[2]!});
const sandbox = (await v1.createSandbox({metadata: {task: "17"}})).data;
const {data} = await v1.execInSandbox(sandbox.id, {runtime: "sh", code: "echo hello"});
const stat = (await v1.statFile(sandbox.id, {path: "/workspace"})).data;
const refused: ApiError = await v1.exec({runtime: "sh", code: "x", timeout_ms: -1}).then(() => ({error: {kind: "internal", message: ""}}), (r) => r.error);
await v1.deleteSandbox(sandbox.id);
console.log(JSON.stringify([data.stdout, data.usage.memory_peak_bytes === 0, stat.path, refused.error.kind]));
