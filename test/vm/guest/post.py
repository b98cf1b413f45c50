"""post.py SOCKET (JSON | PATH) -- POST /v1/exec, or GET PATH; prints the answer's body.  With as little of the library as that takes."""
import socket
import sys

path, word = sys.argv[1:]
s = socket.socket(socket.AF_UNIX)
s.connect(path)
if word.startswith("/"):
    s.sendall(f"GET {word} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
else:
    s.sendall(f"POST /v1/exec HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {len(word)}\r\n\r\n{word}".encode())
answer = b""
while data := s.recv(65536):
    answer += data
print(answer.partition(b"\r\n\r\n")[2].decode().replace('": ', '":'))
