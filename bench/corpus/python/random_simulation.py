import random
from collections import Counter

random.seed(12345)


def simulate_queue(customers, servers):
    """Return the average waiting time of customers."""
    free_at = [0.0] * servers
    now = waited = 0.0
    for _ in range(customers):
        now += random.expovariate(1 / 4)
        service = random.uniform(5, 9)
        server = min(range(servers), key=free_at.__getitem__)
        begin = max(now, free_at[server])
        waited += begin - now
        free_at[server] = begin + service
    return waited / customers


for servers in (2, 3, 4):
    print(f"{servers} servers: average wait {simulate_queue(500, servers):.3f}")

deck = [f"{rank}{suit}" for suit in "SHDC" for rank in "23456789TJQKA"]
random.shuffle(deck)
print("hand:", sorted(random.sample(deck, 5)))
rolls = Counter(sum(random.choices(range(1, 7), k=2)) for _ in range(1000))
print("most common:", rolls.most_common(3))
state = random.getstate()
first = random.random()
random.setstate(state)
print("reproducible:", first == random.random())
