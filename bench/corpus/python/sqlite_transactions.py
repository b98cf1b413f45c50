import sqlite3
from contextlib import closing

SCHEMA = "CREATE TABLE accounts (name TEXT PRIMARY KEY, balance INTEGER NOT NULL CHECK (balance >= 0))"


def transfer(db, source, target, amount):
    try:
        with db:  # commits, or rolls back on an exception
            db.execute("UPDATE accounts SET balance = balance + ? WHERE name = ?", (amount, target))
            db.execute("UPDATE accounts SET balance = balance - ? WHERE name = ?", (amount, source))
        return "ok"
    except sqlite3.IntegrityError as e:
        return f"refused ({e})"


with closing(sqlite3.connect("bank.db")) as db:
    with db:
        db.execute(SCHEMA)
        db.executemany("INSERT INTO accounts VALUES (?, ?)", [("alice", 100), ("bob", 20)])
    print("alice -> bob 30:", transfer(db, "alice", "bob", 30))
    print("bob -> alice 500:", transfer(db, "bob", "alice", 500))
    print("bob -> alice 50:", transfer(db, "bob", "alice", 50))

with closing(sqlite3.connect("bank.db")) as db:
    print(db.execute("SELECT name, balance FROM accounts ORDER BY name").fetchall())
    try:
        db.execute("SELECT * FROM missing")
    except sqlite3.OperationalError as e:
        print("error:", e)
    print(db.execute("PRAGMA integrity_check").fetchone()[0])
