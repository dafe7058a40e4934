import agnhost from "../../../fixtures/images/agnhost.json" with { type: "json" };
import busybox from "../../../fixtures/images/busybox.json" with { type: "json" };
import criTools from "../../../fixtures/images/cri-tools.json" with { type: "json" };
import dnsutils from "../../../fixtures/images/dnsutils.json" with { type: "json" };
import httpd from "../../../fixtures/images/httpd.json" with { type: "json" };
import kubernetes from "../../../fixtures/images/kubernetes.json" with { type: "json" };
import nettool from "../../../fixtures/images/nettool.json" with { type: "json" };
import nginx from "../../../fixtures/images/nginx.json" with { type: "json" };
import pause from "../../../fixtures/images/pause.json" with { type: "json" };
import stress from "../../../fixtures/images/stress.json" with { type: "json" };
import updateDemo from "../../../fixtures/images/update-demo.json" with { type: "json" };
import type { Reference } from "./reference.js";

/** The description of an image: a file of fixtures/images. */
export interface ImageDefinition {
  /** the last part of the names it stands for: `nginx` also matches `example.com/team/nginx` */
  readonly names: readonly string[];
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** all tags are the same image */
  readonly hasOneContent?: boolean;
  /** name or number, optionally with `:group`; "" for root */
  readonly user: string;
  readonly workingDir: string;
  /** "" for SIGTERM */
  readonly stopSignal: string;
  readonly sizeBytes: number;
  /** the folder for all commands of a busybox; "" for none */
  readonly applets: string;
  /** our programs by path: `/usr/sbin/nginx` is `nginx` */
  readonly programs: Readonly<Record<string, string>>;
  /** ports and what they serve: files of a folder, or a text */
  readonly ports: readonly { readonly port: number; readonly root?: string; readonly text?: string }[];
  /** files by path, as lists of lines */
  readonly files: Readonly<Record<string, readonly string[]>>;
  /** what its own program uses; not if a container has another command */
  readonly usage?: ImageUsage;
}

/** What a program uses while it has nothing to do. */
export interface ImageUsage {
  readonly milliCores: number;
  readonly memoryBytes: number;
}

const DEFINITIONS: readonly ImageDefinition[] = [
  agnhost,
  busybox,
  dnsutils,
  httpd,
  ...kubernetes,
  nettool,
  nginx,
  pause,
  stress,
  ...criTools,
  ...updateDemo,
];

/** The description for an image name; undefined if there is none. */
export function findDefinition({ path }: Reference): ImageDefinition | undefined {
  const name = path.split("/").at(-1) ?? "";
  return DEFINITIONS.find((definition) => definition.names.includes(name));
}

const SYNTHETIC_BASE_BYTES = 8_000_000;
const SYNTHETIC_SPREAD_BYTES = 90_000_000;

/** The image for names without a description: a program that waits for a signal, and a busybox. */
export function syntheticDefinition(name: string, hash: number): ImageDefinition {
  return {
    names: [],
    entrypoint: ["/app"],
    cmd: [],
    env: { KUBELAB_IMAGE: name },
    user: "",
    workingDir: "",
    stopSignal: "",
    sizeBytes: SYNTHETIC_BASE_BYTES + Math.floor(hash * SYNTHETIC_SPREAD_BYTES),
    applets: "/bin",
    programs: { "/app": "app" },
    ports: [],
    files: {},
  };
}
