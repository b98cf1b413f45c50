import copy
import os
import pickle
import shelve


class Node:
    def __init__(self, name, children=()):
        self.name = name
        self.children = list(children)
        self.cache = lambda: None  # cannot be pickled

    def __getstate__(self):
        state = self.__dict__.copy()
        del state["cache"]
        return state

    def __setstate__(self, state):
        self.__dict__.update(state, cache=None)

    def names(self):
        return [self.name] + [n for child in self.children for n in child.names()]


tree = Node("root", [Node("left", [Node("leaf")]), Node("right")])
restored = pickle.loads(pickle.dumps(tree))
print(restored.names(), restored.cache)

shallow, deep = copy.copy([tree]), copy.deepcopy([1, [2, [3]]])
print(shallow[0] is tree, deep)

with shelve.open("store") as store:
    store["tree"] = restored
    store["numbers"] = {n: n**3 for n in range(5)}
with shelve.open("store") as store:
    print(sorted(store), store["numbers"][4], store["tree"].names()[-1])
print(any(name.startswith("store") for name in os.listdir(".")))

try:
    pickle.dumps(lambda: 0)
except (pickle.PicklingError, AttributeError) as e:
    print("cannot pickle:", type(e).__name__ in ("PicklingError", "AttributeError"))
