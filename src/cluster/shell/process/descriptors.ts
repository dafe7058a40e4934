import type { ContainerFs } from "../fs/container-fs.js";
import { FsError } from "../fs/fs-error.js";
import { type OpenForWriting, openForReading, openForWriting } from "../fs/open-file.js";
import { resolvePath } from "../fs/paths.js";
import type { ByteSink, ByteSource } from "../streams.js";
import type { Machine, Self } from "./process.js";
import { isProcess } from "./process-table.js";

const STREAMS = ["stdin", "stdout", "stderr"];
/** As in Linux, which then reports ELOOP. */
const MAX_LINKS = 40;

/** A descriptor that a path names: of the process that opens it, or of the one with `pid`. */
interface NamedDescriptor {
  readonly pid: number | undefined;
  readonly fd: number;
}

/** The descriptor behind `/dev/stdout`, `/proc/self/fd/1`, `/proc/1/fd/1` or a link to one of them. */
export function descriptorAt(fs: ContainerFs, path: string): NamedDescriptor | undefined {
  let at = path;
  for (let links = 0; links < MAX_LINKS; links++) {
    const [, stream, pid, fd] = /^\/(?:dev\/(std\w+)|(?:dev|proc\/(self|\d+))\/fd\/(\d+))$/.exec(at) ?? [];
    if (fd !== undefined) return { pid: Number(pid) || undefined, fd: Number(fd) };
    if (stream !== undefined && STREAMS.includes(stream)) return { pid: undefined, fd: STREAMS.indexOf(stream) };
    try {
      if (fs.lstat(at).type !== "symlink") return undefined;
      at = resolvePath(resolvePath(at, ".."), fs.readlink(at));
    } catch (error) {
      if (error instanceof FsError) return undefined; // opening it reports the error
      throw error;
    }
  }
  return undefined;
}

/** A stream of another process: lets hooks and probes write to the container's log. */
export function streamOfProcess(
  { pid, fd }: NamedDescriptor,
  processes: Pick<Machine["processes"], "find">,
): { readonly source?: ByteSource; readonly sink?: ByteSink } {
  const task = pid === undefined ? undefined : processes.find(pid);
  if (task === undefined || !isProcess(task)) return {};
  const [stdin, stdout, stderr] = task.streams;
  if (fd === 0) return { source: stdin };
  return fd === 1 ? { sink: stdout } : fd === 2 ? { sink: stderr } : {};
}

/** Opens a file for a program. @throws FsError */
export function openSource(self: Self, path: string): ByteSource {
  const named = descriptorAt(self.machine.fs, path);
  const own = named?.pid === undefined && named?.fd === 0 ? self.stdin : undefined;
  const other = named === undefined ? undefined : streamOfProcess(named, self.machine.processes).source;
  return own ?? other ?? openForReading(self.machine.fs, path, self.machine.random);
}

/** Opens or creates a file for a program. @throws FsError */
export function openSink(self: Self, path: string, how: Omit<OpenForWriting, "umask">): ByteSink {
  const named = descriptorAt(self.machine.fs, path);
  const own = named?.pid === undefined ? [undefined, self.stdout, self.stderr][named?.fd ?? 0] : undefined;
  const other = named === undefined ? undefined : streamOfProcess(named, self.machine.processes).sink;
  return own ?? other ?? openForWriting(self.machine.fs, path, { ...how, umask: self.umask });
}
