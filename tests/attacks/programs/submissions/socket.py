# tries: to confuse the reader by a socket as the submission
# expect: submission_invalid
# collects: submission.csv
# holds: reason has a socket
import socket

socket.socket(socket.AF_UNIX).bind("/output/submission.csv")
