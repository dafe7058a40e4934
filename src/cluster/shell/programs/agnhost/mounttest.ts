import { errorText, FsError } from "../../fs/fs-error.js";
import { resolvePath } from "../../fs/paths.js";
import type { FileStat } from "../../fs/stat.js";
import type { Self } from "../../process/process.js";
import { print } from "../console.js";
import type { Flags } from "./flags.js";

const NEW_CONTENT = "mount-tester new file\n";
const RETRY_MS = 2000;
const MODES = ["0644", "0666", "0660", "0777"] as const;

/** `mounttest`: creates files and prints the file system, mode, owner and content of files. @returns 1 after any error */
export async function mounttest(self: Self, flags: Flags): Promise<number> {
  let code = 0;
  const check = async (flag: string, what: string, body: (path: string) => Promise<string> | string) => {
    const path = flags.text(flag);
    if (path === "") return;
    try {
      await print(self, await body(path));
    } catch (error) {
      if (!(error instanceof FsError)) throw error;
      code = 1;
      await print(self, `error ${what} ${JSON.stringify(path)}: ${error.text.toLowerCase()}\n`);
    }
  };
  const { fs } = self.machine;
  const stat = (path: string) => fs.stat(resolvePath(self.cwd, path));
  await check("fs_type", "from statfs", (path) => {
    const type = fs.isTmpfs(resolvePath(self.cwd, path)) ? "tmpfs" : String(EXT4_MAGIC);
    return `mount type of ${JSON.stringify(path)}: ${type}\n`;
  });
  for (const mode of MODES) {
    await check(`new_file_${mode}`, "writing new file", (path) => {
      const file = resolvePath(self.cwd, path);
      fs.write(file, Buffer.from(NEW_CONTENT), { truncate: true, mode: Number.parseInt(mode, 8) });
      return contentLine(path, NEW_CONTENT);
    });
  }
  await check("file_mode", "from Stat", (path) => `mode of file ${JSON.stringify(path)}: ${goMode(stat(path))}\n`);
  await check("file_perm", "from Stat", (path) => {
    const { mode } = stat(path);
    return `perms of file ${JSON.stringify(path)}: ${goMode({ type: "file", mode: mode & 0o777 })}\n`;
  });
  await check("file_owner", "from stat", (path) => {
    const { uid, gid } = stat(path);
    return `owner UID of ${JSON.stringify(path)}: ${uid}\nowner GID of ${JSON.stringify(path)}: ${gid}\n`;
  });
  await check("file_content", "reading file content for", (path) =>
    contentLine(path, fs.readFile(resolvePath(self.cwd, path)).toString()),
  );
  if (flags.text("file_content_in_loop") !== "" && !(await readInLoop(self, flags))) code = 1;
  return code;
}

/** Linux's number of ext4, used for every file system that is not a tmpfs. */
const EXT4_MAGIC = 0xef53;

function contentLine(path: string, content: string): string {
  return `content of file ${JSON.stringify(path)}: ${content}\n`;
}

/** The mode as Go's os.FileMode prints it: `-rw-r--r--`, `dgrwxrwxrwx`. */
function goMode({ type, mode }: Pick<FileStat, "type" | "mode">): string {
  const special = `${type === "directory" ? "d" : ""}${mode & 0o4000 ? "u" : ""}${mode & 0o2000 ? "g" : ""}${mode & 0o1000 ? "t" : ""}`;
  const bits = [..."rwxrwxrwx"].map((letter, at) => (mode & (1 << (8 - at)) ? letter : "-")).join("");
  return `${special === "" ? "-" : special}${bits}`;
}

/** @returns whether the last read succeeded */
async function readInLoop(self: Self, flags: Flags): Promise<boolean> {
  const { fs, clock } = self.machine;
  const path = flags.text("file_content_in_loop");
  const endMs = clock.now() + flags.number("retry_time", 180) * 1000;
  let isRead = false;
  while (clock.now() < endMs) {
    try {
      const content = fs.readFile(resolvePath(self.cwd, path)).toString();
      isRead = true;
      await print(self, contentLine(path, content));
      if (flags.isSet("break_on_expected_content", true)) {
        if (content === NEW_CONTENT) break;
        await print(self, `Unexpected content. Expected: ${NEW_CONTENT}. Retrying`);
      }
    } catch (error) {
      isRead = false;
      await print(self, `Error reading file ${path}: open ${path}: ${errorText(error).toLowerCase()}, retrying\n`);
    }
    await clock.sleep(RETRY_MS, self.signal);
  }
  return isRead;
}
