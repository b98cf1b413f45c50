// openapi-typescript and openapi-fetch: types alone, from paths.
import createClient from "openapi-fetch";
import type {components, paths} from "./types.js";

const client = createClient<paths, "application/json">({baseUrl: process.argv[2]!});
const made = await client.POST("/v1/sandboxes", {body: {metadata: {task: "17"}}});
if (!made.data) throw new Error(made.error.error.message);
const id: string = made.data.id;
const ran = await client.POST("/v1/sandboxes/{id}/exec", {params: {path: {id}}, body: {runtime: "sh", code: "echo hello"}});
if (!ran.data || !("stdout" in ran.data)) throw new Error("no result");
const data: components["schemas"]["Result"] = ran.data;
const listed = await client.GET("/v1/sandboxes/{id}/files", {params: {path: {id}, query: {path: "/workspace", list: true}}});
const refused = await client.POST("/v1/exec", {body: {runtime: "sh", code: "x", timeout_ms: -1}});
const kind = refused.error?.error.kind;
await client.DELETE("/v1/sandboxes/{id}", {params: {path: {id}}});
console.log(JSON.stringify([data.stdout, data.usage.memory_peak_bytes === 0, (listed.data as components["schemas"]["Directory"]).path, kind]));
