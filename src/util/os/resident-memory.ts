import { readFileSync } from "node:fs";

const PAGE_BYTES = 4_096;

/** The resident memory of a process; 0 on systems other than Linux, and after it has ended. */
export function residentBytes(pid: number | undefined): number {
  try {
    const [, pages] = readFileSync(`/proc/${pid}/statm`, "utf8").split(" ");
    return Number(pages) * PAGE_BYTES;
  } catch {
    return 0;
  }
}
