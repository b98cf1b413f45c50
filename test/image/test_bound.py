"""The disk space of all images of a store (images.max_bytes): for each process that adds to it, and during unpacking."""

import os
import random

import archives as a
import support
from stores import check, check_equal, store
from support import test

MIB = 1 << 20
ALL = os.environ.get("CELLA_TEST_ALL") == "1"


def noise(n, seed):
    return random.Random(seed).randbytes(n)


def refused(s, archive, bound, **fields):
    """Checks that an import is refused with a hint and leaves nothing."""
    e = s.refuse(archive, **fields)
    check_equal((e["kind"], e["message"]), ("over_capacity", f"images may take {bound} MiB of the disk (images.max_bytes)"), "the error")
    check("cella image gc" in e["hint"] and "raise" in e["hint"], e["hint"])
    check_equal(os.listdir(s.store + "/tmp"), [], "what is under construction")
    return e


def disk(s):
    """Returns the size of the store as du counts it."""
    seen = {}
    for path, directories, names in os.walk(s.store):
        for name in [*directories, *names]:
            st = os.lstat(os.path.join(path, name))
            seen[st.st_ino] = st.st_blocks * 512
    return sum(seen.values())


@test
def a_store_has_no_more_than_its_bound(s):
    first, second = a.tar(a.entry("one", noise(2 * MIB, 1))), a.tar(a.entry("two", noise(2 * MIB, 2)))
    s.do("bound", bytes=3 * MIB)
    image = s.load(first, "first")
    refused(s, second, 3, name="second")
    refused(s, a.docker([first, second], tags=["both:1"]), 3, name=None)
    # Many empty files count as well; and a bomb is cut off before it is unpacked.
    refused(s, a.tar(*(a.entry(f"f{i}") for i in range(400))), 3)
    refused(s, a.COMPRESSIONS["gzip"](a.tar(a.entry("bomb", bytes(200 * MIB)))), 3)
    check(disk(s) <= 3 * MIB, f"{disk(s)} bytes are on the disk")
    s.do("rm", name="first")
    s.load(second, "second")
    s.do("bound", bytes=0)
    check_equal(s.load(first, "first")["id"], image["id"], "the image that came back")
    check(not os.path.exists(s.store + "/max_bytes"), "a bound that is none")
    for wrong in (-1, "1", None, 1.5):
        check_equal(s.answer(s.send("bound", bytes=wrong))["event"], "failed", f"the bound {wrong}")


@test
def the_bound_belongs_to_the_store_and_not_to_a_process(s):
    s.do("bound", bytes=3 * MIB)
    s.kill()
    s.start()  # another process, without the bound
    refused(s, a.tar(a.entry("x", noise(4 * MIB, 3))), 3)
    # Two imports at the same time do not both get the remaining space.
    jobs = [s.start_import(a.tar(a.entry("x", noise(2 * MIB, 10 + i))), f"n{i}") for i in range(4)]
    ends = sorted(s.answer(job)["event"] for job in jobs)
    check_equal(ends, ["done", "failed", "failed", "failed"], "four that want two thirds each")
    check(disk(s) <= 3 * MIB, f"{disk(s)} bytes are on the disk")
    support.write(s.store + "/max_bytes", "nonsense\n")
    e = s.refuse(a.tar(a.entry("y", "y")))
    check("the limit of the store" in e["message"], e)


@test(users=("root",))
def a_large_file_of_many_names_is_no_bomb():
    if not ALL:
        raise support.Skip("only with CELLA_TEST_ALL=1")
    names = 65000  # as many as a file can have on ext4
    archive = a.tar(a.entry("f", noise(MIB, 5)), *(a.hardlink(f"n{i}", "f") for i in range(names - 1)))
    with store() as s:
        answer = s.answer(s.start_import(archive, "links"))
        if answer["event"] == "failed":
            check_equal(answer["error"]["kind"], "too_large", answer["error"])
            check_equal(s.files(), [], "what is left")
        check(disk(s) < 600 * MIB, f"{disk(s) >> 20} MiB are on the disk")
