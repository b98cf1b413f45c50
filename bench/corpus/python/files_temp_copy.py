import filecmp
import os
import shutil
import tempfile

with tempfile.TemporaryDirectory() as tmp:
    source = os.path.join(tmp, "source")
    os.makedirs(os.path.join(source, "nested"))
    for i in range(5):
        with open(os.path.join(source, f"file{i}.txt"), "w") as f:
            f.write(f"content {i}\n" * (i + 1))
    with open(os.path.join(source, "nested", "deep.txt"), "w") as f:
        f.write("deep\n")

    backup = os.path.join(tmp, "backup")
    shutil.copytree(source, backup)
    with open(os.path.join(backup, "file2.txt"), "a") as f:
        f.write("changed\n")
    os.remove(os.path.join(backup, "file4.txt"))

    comparison = filecmp.dircmp(source, backup)
    print("Only in source:", comparison.left_only)
    print("Different:", comparison.diff_files)
    print("Same:", sorted(comparison.same_files))
    print("Common subdirectories:", comparison.common_dirs)

    shutil.move(os.path.join(backup, "file0.txt"), os.path.join(tmp, "moved.txt"))
    print("Moved exists:", os.path.exists(os.path.join(tmp, "moved.txt")))
    shutil.rmtree(backup)
    print("Left:", sorted(os.listdir(tmp)))
