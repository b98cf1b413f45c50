import asyncio
from collections import defaultdict

processed = defaultdict(list)


async def producer(queue, items):
    for item in items:
        await queue.put(item)
    await queue.join()


async def consumer(name, queue):
    while True:
        item = await queue.get()
        try:
            await asyncio.sleep(0)
            processed["all"].append(item * item)
        finally:
            queue.task_done()


async def main():
    queue = asyncio.Queue(maxsize=4)
    workers = [asyncio.create_task(consumer(f"worker-{i}", queue)) for i in range(3)]
    await producer(queue, range(25))
    for worker in workers:
        worker.cancel()
    results = await asyncio.gather(*workers, return_exceptions=True)
    print("cancelled:", sum(isinstance(r, asyncio.CancelledError) for r in results))
    print("sum of squares:", sum(processed["all"]))
    print("count:", len(processed["all"]), "largest:", max(processed["all"]))

    event = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.call_later(0.001, event.set)
    await event.wait()
    print("event was set")


asyncio.run(main())
