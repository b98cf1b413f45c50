import asyncio
import json


async def handle(reader, writer):
    while line := await reader.readline():
        request = json.loads(line)
        if request["op"] == "add":
            reply = {"result": sum(request["args"])}
        else:
            reply = {"error": f"unknown operation {request['op']}"}
        writer.write(json.dumps(reply).encode() + b"\n")
        await writer.drain()
    writer.close()


async def call(port, *requests):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    replies = []
    for request in requests:
        writer.write(json.dumps(request).encode() + b"\n")
        replies.append(json.loads(await reader.readline()))
    writer.close()
    await writer.wait_closed()
    return replies


async def main():
    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server:
        clients = [call(port, {"op": "add", "args": list(range(n))}, {"op": f"op{n}"}) for n in range(3, 7)]
        for replies in await asyncio.gather(*clients):
            print(replies)


asyncio.run(main())
