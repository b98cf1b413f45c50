from collections import OrderedDict
from typing import Callable, Dict, Generic, Iterator, List, Optional, Protocol, Tuple, TypeVar, Union, runtime_checkable

K = TypeVar("K")
V = TypeVar("V")


@runtime_checkable
class SupportsClose(Protocol):
    def close(self) -> None: ...


class LRUCache(Generic[K, V]):
    def __init__(self, capacity: int, on_evict: Optional[Callable[[K, V], None]] = None) -> None:
        self._items: "OrderedDict[K, V]" = OrderedDict()
        self._capacity = capacity
        self._on_evict = on_evict

    def get(self, key: K, default: Union[V, None] = None) -> Union[V, None]:
        if key not in self._items:
            return default
        self._items.move_to_end(key)
        return self._items[key]

    def put(self, key: K, value: V) -> None:
        self._items[key] = value
        self._items.move_to_end(key)
        if len(self._items) > self._capacity:
            old_key, old_value = self._items.popitem(last=False)
            if isinstance(old_value, SupportsClose):
                old_value.close()
            if self._on_evict:
                self._on_evict(old_key, old_value)

    def __iter__(self) -> Iterator[Tuple[K, V]]:
        return iter(self._items.items())


class Connection:
    def __init__(self, name: str) -> None:
        self.name = name

    def close(self) -> None:
        print(f"closing {self.name}")


evicted: List[str] = []
cache: LRUCache[str, Connection] = LRUCache(2, lambda k, v: evicted.append(k))
for name in ("a", "b", "c"):
    cache.put(name, Connection(f"connection-{name}"))
cache.get("b")
cache.put("d", Connection("connection-d"))
summary: Dict[str, str] = {key: value.name for key, value in cache}
print(summary, evicted)
print(isinstance(Connection("x"), SupportsClose), isinstance("x", SupportsClose))
