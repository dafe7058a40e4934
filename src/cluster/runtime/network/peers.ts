import { existsSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import { sameJson } from "../../../staging/apimachinery/same-json.js";
import { addressNumber } from "../../../util/net/ipv4.js";
import { makeFolderSync, replaceFileSync } from "../../../util/os/files.js";
import { isRecord } from "../../../util/records.js";
import { parseCidr } from "./cidr.js";

/** The runtimes of one cluster find each other through a shared folder: each writes a file to it. */
export interface PeerOptions {
  /** the same for all nodes of a cluster; only its user can read it */
  readonly folder: string;
  /** this node's name, which names its file */
  readonly node: string;
}

/** Another node's runtime. */
export interface Peer {
  readonly node: string;
  /** the path of its socket */
  readonly socket: string;
  readonly cidr: string;
  /** the node's own address, if it has one outside `cidr` */
  readonly address?: string;
  /** the ports of this machine that lead to it: `tcp 127.0.0.1:30080` */
  readonly machinePorts?: readonly string[];
  /** of its process */
  readonly pid: number;
}

interface Entry extends Peer {
  readonly base: number;
  readonly size: number;
}

const SUFFIX = ".json";
const MAX_PEERS = 5_000;

/**
 * The routes to other nodes' pods, which a network plugin takes from the pod CIDRs of the Nodes. Read again after each
 * change of the folder.
 */
export class Peers {
  #entries: readonly Entry[] = [];
  #readMs = -1;
  #cidr: string | undefined;
  #ports: readonly string[] = [];

  constructor(
    readonly options: PeerOptions,
    /** the path of this node's own socket */
    readonly socket: string,
    /** this node's own */
    readonly address?: string,
  ) {}

  get #file(): string {
    return join(this.options.folder, `${encodeURIComponent(this.options.node)}${SUFFIX}`);
  }

  /** The pod CIDR of this node's last runtime, which ended without cleaning up: its network survives, as on a real node. */
  lastCidr(): string | undefined {
    return readPeer(this.#file, this.options.node)?.cidr;
  }

  /** Publishes this node's pod range to the other nodes. @throws the file system's error */
  announce(cidr: string): void {
    this.#cidr = cidr;
    this.#write();
  }

  /** Publishes the ports of this machine that lead here. @throws the file system's error */
  announcePorts(ports: readonly string[]): void {
    if (sameJson(ports, this.#ports)) return;
    this.#ports = ports;
    if (this.#cidr !== undefined) this.#write();
  }

  #write(): void {
    makeFolderSync(this.options.folder, 0o700);
    const own = {
      socket: this.socket,
      cidr: this.#cidr,
      address: this.address,
      machinePorts: this.#ports,
      pid: process.pid,
    };
    // A rename changes the folder's time, which the other nodes watch.
    replaceFileSync(this.#file, JSON.stringify(own));
  }

  /** The other node to which a port of this machine leads; undefined if there is none. */
  holderOf(port: string): Peer | undefined {
    this.#refresh();
    return this.#entries.find(({ machinePorts = [], pid }) => machinePorts.includes(port) && isRunning(pid));
  }

  /** The node that has the address, or whose pods have it; undefined if there is none. */
  find(ip: string): Peer | undefined {
    this.#refresh();
    return this.#entries.find(({ address }) => address === ip) ?? this.findByPod(ip);
  }

  /** The node whose pods' range has the address; undefined if there is none. */
  findByPod(ip: string): Peer | undefined {
    this.#refresh();
    const address = addressNumber(ip);
    return this.#entries.find(({ base, size }) => address >= base && address < base + size);
  }

  #refresh(): void {
    const changedMs = statSync(this.options.folder, { throwIfNoEntry: false })?.mtimeMs ?? 0;
    if (changedMs === this.#readMs) return;
    this.#readMs = changedMs;
    const all = changedMs === 0 ? [] : listPeers(this.options.folder);
    const others = all.filter(({ node }) => node !== this.options.node);
    this.#entries = others.map((peer) => ({ ...peer, ...parseCidr(peer.cidr) }));
  }

  close(): void {
    rmSync(this.#file, { force: true });
  }
}

/** The running runtimes of a cluster, by node. */
export function listPeers(folder: string): readonly Peer[] {
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => name.endsWith(SUFFIX));
  return names
    .slice(0, MAX_PEERS)
    .sort()
    .flatMap((name) => {
      const peer = readPeer(join(folder, name), decodeURIComponent(name.slice(0, -SUFFIX.length)));
      // A killed runtime leaves its file, and another node may have its range now.
      return peer === undefined || !isRunning(peer.pid) ? [] : [peer];
    });
}

/** @returns undefined if the file does not exist, or no runtime wrote it */
function readPeer(path: string, node: string): Peer | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(path, "utf8"));
    const { socket, cidr, pid, address, machinePorts } = isRecord(value) ? value : {};
    if (typeof socket !== "string" || typeof cidr !== "string" || typeof pid !== "number") return undefined;
    parseCidr(cidr);
    return {
      node,
      socket,
      cidr,
      pid,
      ...(typeof address === "string" ? { address } : {}),
      ...(Array.isArray(machinePorts) ? { machinePorts: machinePorts.map(String) } : {}),
    };
  } catch {
    return undefined;
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}
