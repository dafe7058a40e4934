import type { IFileSystem } from "just-bash";

/**
 * The texts of just-bash's commands in a container: it has no locale, so a byte is a character. Bytes above 0x7f become
 * characters of the private use area, which belong to no class of characters and have no case.
 */

/** U+F780 to U+F7FF are the bytes 0x80 to 0xff. */
const BASE = 0xf700;

/** @param bytes a string stands for its UTF-8 */
export function charactersOf(bytes: Uint8Array | string): string {
  const latin1 = Buffer.from(bytes as Uint8Array).toString("latin1");
  return latin1.replace(/[\x80-\xff]/g, (byte) => String.fromCharCode(BASE + byte.charCodeAt(0)));
}

/** The reverse; other characters become UTF-8. */
export function bytesOf(text: string): Buffer {
  const bytes = Buffer.from(text);
  let length = 0;
  for (let at = 0; at < bytes.length; at++) {
    const [first = 0, second = 0, third = 0] = [bytes[at], bytes[at + 1], bytes[at + 2]];
    // The UTF-8 of BASE's characters.
    const isByte = first === 0xef && (second === 0x9e || second === 0x9f);
    bytes[length++] = isByte ? ((second & 3) << 6) | (third & 0x3f) : first;
    if (isByte) at += 2;
  }
  return bytes.subarray(0, length);
}

/** The files of a container for such a command. */
export function charactersIn(fs: IFileSystem): IFileSystem {
  const path = (text: string) => bytesOf(text).toString();
  const content = (given: string | Uint8Array) =>
    bytesOf(typeof given === "string" ? given : Buffer.from(given).toString());
  const read = async (name: string) => charactersOf(await fs.readFileBuffer(path(name)));
  const methods = Object.entries(fs).map(([method, call]) => [
    method,
    (...given: readonly unknown[]) => call(...given.map((one) => (typeof one === "string" ? path(one) : one))),
  ]);
  return {
    ...Object.fromEntries(methods),
    resolvePath: fs.resolvePath,
    readFile: read,
    readFileBuffer: async (name) => Buffer.from(await read(name)),
    writeFile: (name, given) => fs.writeFile(path(name), content(given)),
    appendFile: (name, given) => fs.appendFile(path(name), content(given)),
    readdir: async (name) => (await fs.readdir(path(name))).map(charactersOf),
    readlink: async (name) => charactersOf(await fs.readlink(path(name))),
    realpath: async (name) => charactersOf(await fs.realpath(path(name))),
  };
}
