import { onAbort } from "../../../util/async/abort.js";
import { ownedConnection } from "../process/owned-connection.js";
import type { Listener } from "../process/ports.js";
import type { Self } from "../process/process.js";

/** A listening socket of a process. */
export interface Listening {
  /** Safe to call twice. */
  close(): void;
}

/**
 * Listens on a TCP port until it is closed, or the process ends, which also ends the connections.
 * @param address default: all addresses
 * @returns undefined if the port is in use
 */
export function listenTcp(self: Self, port: number, accept: Listener, address?: string): Listening | undefined {
  const { ports } = self.machine.network;
  const isOpen = ports.listen(port, (connection) => accept(ownedConnection(connection, self.signal)), address);
  return isOpen ? closing(self, () => ports.close(port, address)) : undefined;
}

function closing(self: Self, end: () => void): Listening {
  let isOpen = true;
  const close = () => {
    if (!isOpen) return;
    isOpen = false;
    link?.[Symbol.dispose]();
    end();
  };
  let link: Disposable | undefined;
  link = onAbort(self.signal, close);
  return { close };
}
