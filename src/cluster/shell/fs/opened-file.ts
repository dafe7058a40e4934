import type { ContainerFs } from "./container-fs.js";
import { FsError } from "./fs-error.js";
import type { FileNode } from "./nodes.js";
import { resolvePath } from "./paths.js";
import type { FileStat } from "./stat.js";

const NOTHING = Buffer.alloc(0);
/** A folder with more names is not searched. */
const MAX_SIBLINGS = 1000;

/**
 * An open file: it stays the same one when its name is removed, or given to another file, as in the rotation of logs.
 * Differs: a file of a mount that left its folder is empty from then on.
 */
export class OpenedFile {
  readonly #stat: FileStat;
  #node: FileNode | undefined;
  /** where it is now */
  #path: string;

  /** @throws FsError if the file does not exist */
  constructor(
    readonly fs: ContainerFs,
    readonly path: string,
  ) {
    this.#stat = fs.stat(path);
    this.#node = fs.node(path);
    this.#path = path;
  }

  /** Whether the name that it was opened by is still its own. */
  get isNamed(): boolean {
    return this.#isAt(this.path);
  }

  get size(): number {
    if (!this.#find()) return this.#node?.size ?? 0;
    return this.fs.stat(this.#path).size;
  }

  read(offset: number, length: number): Buffer {
    if (this.#find()) return this.fs.read(this.#path, offset, length, true);
    if (this.#node === undefined) return NOTHING;
    return Buffer.from(this.#node.bytes.subarray(offset, Math.min(offset + length, this.#node.size)));
  }

  /** @param offset undefined: at its end */
  write(bytes: Uint8Array, offset: number | undefined): void {
    if (this.#find()) this.fs.write(this.#path, bytes, { isOpen: true, ...(offset === undefined ? {} : { offset }) });
    else if (this.#node !== undefined) this.fs.writeNode(this.#node, bytes, offset, this.#path);
  }

  /** Whether the file has a name, perhaps a new one in its folder. */
  #find(): boolean {
    if (this.#isAt(this.#path)) {
      this.#node = this.fs.node(this.#path);
      return true;
    }
    if (this.#node !== undefined) return false;
    const folder = resolvePath(this.#path, "..");
    const names = attempt(() => this.fs.readdir(folder)) ?? [];
    const name = names.slice(0, MAX_SIBLINGS).find((one) => this.#isAt(resolvePath(folder, one)));
    if (name !== undefined) this.#path = resolvePath(folder, name);
    return name !== undefined;
  }

  #isAt(path: string): boolean {
    const { inode, birthMs } = this.#stat;
    const now = attempt(() => this.fs.stat(path));
    return now !== undefined && now.inode === inode && now.birthMs === birthMs;
  }
}

function attempt<T>(look: () => T): T | undefined {
  try {
    return look();
  } catch (error) {
    if (error instanceof FsError) return undefined;
    throw error;
  }
}
