import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

/** One entry of a tar archive: a file with its bytes, a link with its target, or a folder. */
interface TarEntry {
  readonly name: string;
  readonly bytes?: Buffer;
  readonly link?: string;
}

const BLOCK = 512;

/** A ustar archive, as far as an image needs it. */
export function tar(entries: readonly TarEntry[]): Buffer {
  const parts = entries.flatMap(({ name, bytes, link }) => {
    const header = Buffer.alloc(BLOCK);
    const body = bytes ?? Buffer.alloc(0);
    const octal = (value: number, at: number, width: number) =>
      header.write(`${value.toString(8).padStart(width - 1, "0")}\0`, at, "latin1");
    header.write(name, 0, 100, "utf8");
    octal(0o755, 100, 8);
    octal(0, 108, 8);
    octal(0, 116, 8);
    octal(body.length, 124, 12);
    octal(0, 136, 12);
    header.write(" ".repeat(8), 148, "latin1");
    header.write(link !== undefined ? "2" : bytes === undefined ? "5" : "0", 156, "latin1");
    if (link !== undefined) header.write(link, 157, 100, "utf8");
    header.write("ustar\x0000", 257, "latin1");
    octal(
      header.reduce((sum, byte) => sum + byte, 0),
      148,
      7,
    );
    return [header, body, Buffer.alloc((BLOCK - (body.length % BLOCK)) % BLOCK)];
  });
  return Buffer.concat([...parts, Buffer.alloc(2 * BLOCK)]);
}

const digestOf = (bytes: Buffer): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

/** The applets of the busybox in the image. */
const APPLETS = ["sh", "sleep", "true", "false", "echo", "cat", "ls", "env", "kill", "test"];

/** What an image has in addition to its busybox. */
interface ImageContent {
  readonly applets?: readonly string[];
  readonly files?: readonly TarEntry[];
  readonly entrypoint?: readonly string[];
  readonly cmd?: readonly string[];
}

/**
 * An OCI image archive with a static busybox, under the given names: the input of `ctr images import`. Debian's
 * busybox-static has /bin/busybox.
 */
export function busyboxImage(names: readonly string[], content: ImageContent = {}): Buffer {
  const { applets = APPLETS, files = [], entrypoint, cmd = ["/bin/sleep", "1000000"] } = content;
  const layer = tar([
    { name: "bin/" },
    { name: "bin/busybox", bytes: readFileSync("/bin/busybox") },
    ...applets.map((applet) => ({ name: `bin/${applet}`, link: "busybox" })),
    { name: "tmp/" },
    { name: "etc/" },
    { name: "etc/passwd", bytes: Buffer.from("root:x:0:0:root:/:/bin/sh\n") },
    ...files,
  ]);
  const json = (value: unknown) => Buffer.from(JSON.stringify(value));
  const architecture = process.arch === "x64" ? "amd64" : process.arch;
  const config = json({
    architecture,
    os: "linux",
    config: { Env: ["PATH=/bin"], ...(entrypoint === undefined ? {} : { Entrypoint: entrypoint }), Cmd: cmd },
    rootfs: { type: "layers", diff_ids: [digestOf(layer)] },
  });
  const blob = (mediaType: string, bytes: Buffer) => ({ mediaType, digest: digestOf(bytes), size: bytes.length });
  const manifest = json({
    schemaVersion: 2,
    mediaType: "application/vnd.oci.image.manifest.v1+json",
    config: blob("application/vnd.oci.image.config.v1+json", config),
    layers: [blob("application/vnd.oci.image.layer.v1.tar", layer)],
  });
  const index = json({
    schemaVersion: 2,
    manifests: names.map((name) => ({
      ...blob("application/vnd.oci.image.manifest.v1+json", manifest),
      annotations: { "io.containerd.image.name": name, "org.opencontainers.image.ref.name": name },
      platform: { architecture, os: "linux" },
    })),
  });
  const blobs = [layer, config, manifest].map((bytes) => ({
    name: `blobs/sha256/${digestOf(bytes).slice("sha256:".length)}`,
    bytes,
  }));
  return tar([
    { name: "oci-layout", bytes: json({ imageLayoutVersion: "1.0.0" }) },
    { name: "index.json", bytes: index },
    ...blobs,
  ]);
}
