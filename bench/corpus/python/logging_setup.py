import logging
import logging.handlers
import sys

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(levelname)-8s %(name)s: %(message)s")
log = logging.getLogger("app")
log.debug("not shown")
log.info("started with %d workers", 4)
log.warning("disk usage at %.1f%%", 91.25)

handler = logging.handlers.RotatingFileHandler("app.log", maxBytes=300, backupCount=2)
handler.setFormatter(logging.Formatter("%(levelname)s|%(funcName)s|%(message)s"))
worker = logging.getLogger("app.worker")
worker.addHandler(handler)
worker.setLevel(logging.DEBUG)
worker.propagate = False


def process(items):
    for item in items:
        try:
            worker.debug("processing %r: %d", item, 10 // item)
        except ZeroDivisionError:
            worker.exception("cannot process %r", item)


process([1, 2, 0, 5])
handler.close()
with open("app.log") as f:
    lines = f.read().splitlines()
print(len(lines), "lines, last:", lines[-1])
logging.getLogger("other").error("to the root logger")
