import asyncio


async def fetch(name, delay, fail=False):
    await asyncio.sleep(delay)
    if fail:
        raise ValueError(f"{name} failed")
    return f"{name}: done"


async def main():
    results = await asyncio.gather(*(fetch(f"task-{i}", 0.001 * (5 - i)) for i in range(5)))
    for result in results:
        print(result)

    mixed = await asyncio.gather(fetch("good", 0), fetch("bad", 0, fail=True), return_exceptions=True)
    for result in mixed:
        print(type(result).__name__, result)

    try:
        await asyncio.wait_for(fetch("slow", 60), timeout=0.01)
    except asyncio.TimeoutError:
        print("timed out")

    semaphore = asyncio.Semaphore(2)
    running = peak = 0

    async def limited():
        nonlocal running, peak
        async with semaphore:
            running += 1
            peak = max(peak, running)
            await asyncio.sleep(0)
            running -= 1

    await asyncio.gather(*(limited() for _ in range(10)))
    print("peak concurrency:", peak)


asyncio.run(main())
