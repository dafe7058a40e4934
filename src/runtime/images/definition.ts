import busybox from "../../../fixtures/images/busybox.json" with { type: "json" };
import criTools from "../../../fixtures/images/cri-tools.json" with { type: "json" };
import nettool from "../../../fixtures/images/nettool.json" with { type: "json" };
import nginx from "../../../fixtures/images/nginx.json" with { type: "json" };
import pause from "../../../fixtures/images/pause.json" with { type: "json" };
import stress from "../../../fixtures/images/stress.json" with { type: "json" };
import type { Reference } from "./reference.js";

/** What an image is made of: a file of fixtures/images. */
export interface ImageDefinition {
  /** the last part of the names that mean it: `nginx`, also as `example.com/team/nginx` */
  readonly names: readonly string[];
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** all tags are one image */
  readonly hasOneContent?: boolean;
  /** name or number, with `:group` if wanted; "" for root */
  readonly user: string;
  readonly workingDir: string;
  /** "" for SIGTERM */
  readonly stopSignal: string;
  readonly sizeBytes: number;
  /** a folder that gets all commands of a busybox; "" for none */
  readonly applets: string;
  /** programs of ours by path: `/usr/sbin/nginx` is `nginx` */
  readonly programs: Readonly<Record<string, string>>;
  /** ports, and what is served there: files of a folder, or a text */
  readonly ports: readonly { readonly port: number; readonly root?: string; readonly text?: string }[];
  /** files by path, as lines */
  readonly files: Readonly<Record<string, readonly string[]>>;
}

const DEFINITIONS: readonly ImageDefinition[] = [busybox, nettool, nginx, pause, stress, ...criTools];

/** The described image that a name means; undefined for all others. */
export function findDefinition({ path }: Reference): ImageDefinition | undefined {
  const name = path.split("/").at(-1) ?? "";
  return DEFINITIONS.find((definition) => definition.names.includes(name));
}

const SYNTHETIC_BASE_BYTES = 8_000_000;
const SYNTHETIC_SPREAD_BYTES = 90_000_000;

/** An image for a name that nobody has described: a program that waits to be told to end, and a busybox to look around. */
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
