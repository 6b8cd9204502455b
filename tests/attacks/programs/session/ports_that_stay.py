# tries: to leave ports of the loopback that the kernel keeps for a minute after a connection
# expect: success
# open(forked): the box has one loopback, and the kernel keeps a closed port for a minute; SO_REUSEADDR takes it
import socket

with socket.socket() as server:
    server.bind(("127.0.0.1", 47013))
    server.listen()
    with socket.create_connection(("127.0.0.1", 47013)):
        connection, _ = server.accept()
        connection.close()  # the side that closes first waits
# --- the next program of the session ---
import socket

with socket.socket() as server:
    try:
        server.bind(("127.0.0.1", 47013))
    except OSError as error:
        print("LEAK: the port is taken:", error)
