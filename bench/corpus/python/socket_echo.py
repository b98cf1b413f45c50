import socket
import socketserver
import threading


class UpperHandler(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            text = line.decode().strip()
            if text == "quit":
                break
            self.wfile.write((text.upper() + "\n").encode())


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True


def client(address, messages):
    replies = []
    with socket.create_connection(address, timeout=120) as sock, sock.makefile("rw", newline="\n") as stream:
        for message in messages:
            stream.write(message + "\n")
            stream.flush()
            replies.append(stream.readline().strip())
        stream.write("quit\n")
        stream.flush()
    return replies


with Server(("127.0.0.1", 0), UpperHandler) as server:
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    for number in range(3):
        print(number, client(server.server_address, [f"hello {number}", "grüße", "bye"]))
    server.shutdown()
    thread.join()
print("server stopped")
