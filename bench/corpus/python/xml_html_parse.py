import xml.etree.ElementTree as ET
from html import escape, unescape
from html.parser import HTMLParser

FEED = """<?xml version="1.0"?>
<catalog>
  <book id="b1" lang="en"><title>First &amp; last</title><price>12.50</price></book>
  <book id="b2" lang="de"><title>Zweites Buch</title><price>8.00</price></book>
  <book id="b3" lang="en"><title>Third</title></book>
</catalog>"""

root = ET.fromstring(FEED)
for book in root.findall("book"):
    print(book.get("id"), book.findtext("title"), float(book.findtext("price", default="0")))
print("English:", [b.get("id") for b in root.findall("book[@lang='en']")])
ET.SubElement(root, "book", id="b4").text = "added"
print(ET.tostring(root[-1], encoding="unicode"))
try:
    ET.fromstring("<a><b></a>")
except ET.ParseError as e:
    print("XML error:", e)


class Links(HTMLParser):
    def __init__(self):
        super().__init__()
        self.links, self.text = [], []

    def handle_starttag(self, tag, attrs):
        if tag == "a":
            self.links.append(dict(attrs).get("href"))

    def handle_data(self, data):
        if data.strip():
            self.text.append(data.strip())


page = Links()
page.feed('<h1>Hi</h1><p>See <a href="/docs">the docs</a> &amp; <a href="https://example.com/?a=1&amp;b=2">more</a>.</p>')
print(page.links, " ".join(page.text))
print(escape('<a href="x">'), unescape("&lt;&eacute;&gt;"))
