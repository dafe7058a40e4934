import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { dirname } from "node:path";
import { syncFolder } from "../../../../util/os/files.js";

/** The file behind a log. */
export interface LogFile {
  readonly path: string;
  /** Writes all of it. @throws the file system's error; a part may have been written */
  write(bytes: Buffer, offset: number): Promise<void>;
  /** Resolves when all that was written would outlive a loss of power. */
  sync(): Promise<void>;
  truncate(size: number): Promise<void>;
  close(): Promise<void>;
}

/** Opens or creates a log. A new one would outlive a loss of power. */
export type OpenLogFile = (path: string) => Promise<LogFile>;

export const openLogFile: OpenLogFile = async (path) => {
  const file = await open(path, constants.O_WRONLY | constants.O_CREAT, 0o600);
  await syncFolder(dirname(path));
  return {
    path,
    async write(bytes, offset) {
      for (let done = 0; done < bytes.length; ) {
        done += (await file.write(bytes, done, bytes.length - done, offset + done)).bytesWritten;
      }
    },
    sync: () => file.datasync(),
    truncate: (size) => file.truncate(size),
    close: () => file.close(),
  };
};
