from __future__ import annotations

import heapq
import itertools
from dataclasses import dataclass, field
from enum import Enum

ids = itertools.count(1)


class Side(Enum):
    BUY = "buy"
    SELL = "sell"


@dataclass
class Order:
    side: Side
    price: int
    quantity: int
    id: int = field(default_factory=lambda: next(ids))


@dataclass
class Book:
    bids: list = field(default_factory=list)
    asks: list = field(default_factory=list)
    trades: list = field(default_factory=list)

    def submit(self, order: Order) -> None:
        own, other = (self.bids, self.asks) if order.side is Side.BUY else (self.asks, self.bids)
        sign = -1 if order.side is Side.BUY else 1
        while order.quantity and other:
            best = other[0][2]
            crosses = order.price >= best.price if order.side is Side.BUY else order.price <= best.price
            if not crosses:
                break
            quantity = min(order.quantity, best.quantity)
            self.trades.append((order.id, best.id, best.price, quantity))
            order.quantity -= quantity
            best.quantity -= quantity
            if best.quantity == 0:
                heapq.heappop(other)
        if order.quantity:
            heapq.heappush(own, (sign * order.price, order.id, order))


book = Book()
for side, price, quantity in [
    (Side.SELL, 105, 10), (Side.SELL, 103, 5), (Side.BUY, 101, 8), (Side.BUY, 104, 7), (Side.SELL, 100, 20), (Side.BUY, 106, 3),
]:
    book.submit(Order(side, price, quantity))
for taker, maker, price, quantity in book.trades:
    print(f"order {taker} trades {quantity} @ {price} with order {maker}")
print("bids:", [(o.price, o.quantity) for *_, o in sorted(book.bids)])
print("asks:", [(o.price, o.quantity) for *_, o in sorted(book.asks)])
