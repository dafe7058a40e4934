"""Runs a program on a terminal of its own: on-terminal.py ROWS COLUMNS SCRIPT PROGRAM ARGUMENT...

SCRIPT is JSON, a list of [WAIT_FOR, THEN_TYPE]: text is typed when the other has been seen since the step before; a third
element RESIZE, [ROWS, COLUMNS], changes the terminal's size before. Prints as JSON: all output, the exit code, and whether
the terminal's settings are what they were.
"""
import fcntl, json, os, pty, select, struct, sys, termios, time

rows, columns, script, argv = int(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3]), sys.argv[4:]
main, inner = pty.openpty()
fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
before = termios.tcgetattr(inner)
pid = os.fork()
if pid == 0:
    os.setsid()
    fcntl.ioctl(inner, termios.TIOCSCTTY, 0)
    for fd in (0, 1, 2):
        os.dup2(inner, fd)
    os.execvp(argv[0], argv)
output, mark, status, end = b"", 0, None, time.time() + 20
while time.time() < end:
    ready, _, _ = select.select([main], [], [], 0.05)
    if ready:
        output += os.read(main, 65536)
    elif status is not None:
        break
    if script and script[0][0].encode() in output[mark:]:
        step = script.pop(0)
        mark = len(output)
        if len(step) > 2:
            fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", step[2][0], step[2][1], 0, 0))
        if step[1].startswith("signal "):
            os.kill(pid, int(step[1].split()[1]))
        else:
            os.write(main, step[1].encode())
    if status is None:
        done, code = os.waitpid(pid, os.WNOHANG)
        if done:
            status = code
if status is None:
    os.kill(pid, 9)
    os.waitpid(pid, 0)
code = None if status is None else os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
print(json.dumps({"output": output.decode(errors="replace"), "code": code, "restored": termios.tcgetattr(inner) == before}))
