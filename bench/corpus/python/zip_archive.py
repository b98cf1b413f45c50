import io
import zipfile

documents = {f"docs/chapter{i}.txt": f"Chapter {i}\n" + "lorem ipsum dolor sit amet\n" * 40 for i in range(1, 6)}

buffer = io.BytesIO()
with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
    for name, text in documents.items():
        info = zipfile.ZipInfo(name, date_time=(2024, 1, 1, 0, 0, 0))
        archive.writestr(info, text, zipfile.ZIP_DEFLATED)

with open("docs.zip", "wb") as f:
    f.write(buffer.getvalue())

with zipfile.ZipFile("docs.zip") as archive:
    print("Test:", archive.testzip())
    for info in archive.infolist():
        smaller = info.compress_size < info.file_size
        print(f"{info.filename:22} {info.file_size:6d} bytes, compressed: {smaller}")
    archive.extract("docs/chapter3.txt", "extracted")

with open("extracted/docs/chapter3.txt") as f:
    print(f.readline().strip(), "with", 1 + sum(1 for _ in f), "lines")
