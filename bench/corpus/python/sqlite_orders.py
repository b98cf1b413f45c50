import sqlite3

connection = sqlite3.connect(":memory:")
connection.row_factory = sqlite3.Row
connection.executescript(
    """
    CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, country TEXT);
    CREATE TABLE orders (
        id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers(id), total REAL, placed TEXT
    );
    CREATE INDEX orders_by_customer ON orders(customer_id);
    """
)
connection.executemany(
    "INSERT INTO customers (name, country) VALUES (?, ?)",
    [("Ada", "UK"), ("Linus", "FI"), ("Grace", "US"), ("Guido", "NL")],
)
connection.executemany(
    "INSERT INTO orders (customer_id, total, placed) VALUES (?, ?, ?)",
    [(i % 3 + 1, round(10 + i * 7.3 % 50, 2), f"2024-0{i % 6 + 1}-15") for i in range(30)],
)

query = """
    SELECT c.name, COUNT(o.id) AS n, ROUND(COALESCE(SUM(o.total), 0), 2) AS spent, MAX(o.placed) AS latest
    FROM customers c LEFT JOIN orders o ON o.customer_id = c.id
    GROUP BY c.id ORDER BY spent DESC, c.name
"""
for row in connection.execute(query):
    print(f"{row['name']:6} {row['n']:3d} {row['spent']:8.2f} {row['latest']}")

(monthly,) = connection.execute("SELECT COUNT(DISTINCT substr(placed, 1, 7)) FROM orders").fetchone()
print("months:", monthly)
names = [d[0] for d in connection.execute("SELECT * FROM orders LIMIT 1").description]
print("columns:", names)
