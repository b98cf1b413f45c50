import heapq
from collections import deque

graph = {
    "A": {"B": 4, "C": 2},
    "B": {"D": 5},
    "C": {"B": 1, "D": 8, "E": 10},
    "D": {"E": 2, "F": 6},
    "E": {"F": 3},
    "F": {},
}


def dijkstra(graph, start):
    distances = {node: float("inf") for node in graph}
    previous = {}
    distances[start] = 0
    queue = [(0, start)]
    while queue:
        distance, node = heapq.heappop(queue)
        if distance > distances[node]:
            continue
        for neighbour, weight in graph[node].items():
            candidate = distance + weight
            if candidate < distances[neighbour]:
                distances[neighbour] = candidate
                previous[neighbour] = node
                heapq.heappush(queue, (candidate, neighbour))
    return distances, previous


def path(previous, end):
    nodes = [end]
    while nodes[-1] in previous:
        nodes.append(previous[nodes[-1]])
    return " -> ".join(reversed(nodes))


distances, previous = dijkstra(graph, "A")
for node in sorted(graph):
    print(f"{node}: {distances[node]:2d}  {path(previous, node)}")

seen, queue, order = {"A"}, deque(["A"]), []
while queue:
    node = queue.popleft()
    order.append(node)
    for neighbour in sorted(graph[node]):
        if neighbour not in seen:
            seen.add(neighbour)
            queue.append(neighbour)
print("breadth first:", order)
