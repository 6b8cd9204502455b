# tries: x
# expect: success
# limits: memory_mb=64 open_files=4000 wall_seconds=60 processes=100
import time,os,struct,socket
def usage():
    try: return int(open("/sys/fs/cgroup/memory/memory.usage_in_bytes").read())>>20
    except OSError as e: return str(e)
print("start", usage(), flush=True)
def udp():
    tot=0; keep=[]
    out=socket.socket(socket.AF_INET,socket.SOCK_DGRAM)
    for _ in range(1500):
        try:
            s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.bind(("127.0.0.1",0)); keep.append(s)
            for _ in range(6):
                out.sendto(bytes(30000), s.getsockname()); tot+=30000
        except OSError as e: print(e); break
    return tot,keep
def tcp():
    tot=0; keep=[]
    srv=socket.socket(); srv.bind(("127.0.0.1",0)); srv.listen(512)
    for _ in range(60):
        try:
            c=socket.socket(); c.connect(srv.getsockname()); a,_=srv.accept(); keep+= [c,a]
            c.setblocking(False)
            try:
                for _ in range(4000): tot+=c.send(bytes(65536))
            except BlockingIOError: pass
        except OSError as e: print(e); break
    return tot,keep
def nl():
    tot=0; keep=[]
    try:
        out=socket.socket(16,socket.SOCK_RAW,2)
        for i in range(1500):
            s=socket.socket(16,socket.SOCK_RAW,2); s.bind((0,0)); keep.append(s)
            out.setblocking(False)
            try:
                for _ in range(7):
                    out.sendto(bytes(30000),(s.getsockname()[0],0)); tot+=30000
            except BlockingIOError: pass
    except OSError as e: print("nl",e)
    return tot,keep
for f in (udp,nl,tcp):
    pid=os.fork()
    if pid==0:
        t=time.time()
        tot,k=f(); print(f.__name__, tot>>20,"MiB", usage(), time.time()-t, flush=True); os._exit(0)
    print(os.waitpid(pid,0)[1], flush=True)
