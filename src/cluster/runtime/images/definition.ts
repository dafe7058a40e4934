/** The description of an image of the embedded registry: an entry of fixtures/images. */
export interface ImageDefinition {
  /** its repositories: `docker.io/library/nginx`; the first is its usual name */
  readonly repositories: readonly string[];
  /** `latest`, or the versions from one to another: `1.7..1.29` */
  readonly tags: readonly string[];
  /** the work of its container, in a few words */
  readonly about: string;
  /** its distribution: `debian 12`, with `tagged` if its tags are those of the distribution; default: none, as busybox */
  readonly base?: string;
  /** the accounts that can pull it; default: anyone. An account without a password accepts any password */
  readonly login?: { readonly username: string; readonly password?: string };
  readonly entrypoint: readonly string[];
  readonly cmd: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** the variable with the release of a tag, and the releases in ascending order; `env` has that of `latest` */
  readonly release?: { readonly variable: string; readonly versions: readonly string[] };
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
  /** ports and their content: files of a folder, or a text */
  readonly ports: readonly { readonly port: number; readonly root?: string; readonly text?: string }[];
  /** files by path, as lists of lines; a path that ends with a slash is an empty folder */
  readonly files: Readonly<Record<string, readonly string[]>>;
  /** the usage of its own program; ignored if a container has another command */
  readonly usage?: ImageUsage;
}

/** The usage of an idle program. */
export interface ImageUsage {
  readonly milliCores: number;
  readonly memoryBytes: number;
}

const SYNTHETIC_BASE_BYTES = 8_000_000;
const SYNTHETIC_SPREAD_BYTES = 90_000_000;

/** An image that the registry does not have: a program that waits for a signal, and a busybox. */
export function syntheticDefinition(name: string, hash: number): ImageDefinition {
  return {
    repositories: [],
    tags: [],
    about: "waits for a signal",
    entrypoint: ["/image-program"],
    cmd: [],
    env: { KUBELAB_IMAGE: name },
    user: "",
    workingDir: "",
    stopSignal: "",
    sizeBytes: SYNTHETIC_BASE_BYTES + Math.floor(hash * SYNTHETIC_SPREAD_BYTES),
    applets: "/bin",
    programs: { "/image-program": "app", "/bin/bash": "sh" },
    ports: [],
    files: {},
  };
}
