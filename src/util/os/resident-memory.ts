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

/** The resident memory of a process in which a page that n processes share counts as an nth; without that, its resident memory. */
export function proportionalBytes(pid: number): number {
  try {
    const [, kilobytes] = /^Pss: +(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8")) ?? [];
    return kilobytes === undefined ? residentBytes(pid) : Number(kilobytes) * 1024;
  } catch {
    return residentBytes(pid);
  }
}
