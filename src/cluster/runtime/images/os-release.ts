import type { ImageDefinition } from "./definition.js";

interface Distribution {
  readonly name: string;
  readonly like?: string;
  /** codenames by version */
  readonly codenames?: Readonly<Record<string, string>>;
  readonly pretty: (version: string, codename: string) => string;
  readonly version?: (version: string, codename: string) => string;
}

const withCodename = (version: string, codename: string) => (codename === "" ? version : `${version} (${codename})`);
const UBUNTUS = { "14.04": "Trusty", "16.04": "Xenial", "18.04": "Bionic", "20.04": "Focal", "22.04": "Jammy" };
const DEBIANS = { "8": "jessie", "9": "stretch", "10": "buster", "11": "bullseye", "12": "bookworm", "13": "trixie" };

/** By their IDs. */
const DISTRIBUTIONS: Readonly<Record<string, Distribution>> = {
  almalinux: { name: "AlmaLinux", like: "rhel centos fedora", pretty: (version) => `AlmaLinux ${version}` },
  alpine: { name: "Alpine Linux", pretty: (version) => `Alpine Linux v${version.split(".").slice(0, 2).join(".")}` },
  amzn: { name: "Amazon Linux", like: "fedora", pretty: (version) => `Amazon Linux ${version}` },
  centos: { name: "CentOS Linux", like: "rhel fedora", pretty: (version) => `CentOS Linux ${version}` },
  debian: {
    name: "Debian GNU/Linux",
    codenames: DEBIANS,
    pretty: (version, codename) => `Debian GNU/Linux ${withCodename(version, codename)}`,
    version: withCodename,
  },
  distroless: { name: "Debian GNU/Linux", codenames: DEBIANS, pretty: () => "Distroless", version: withCodename },
  fedora: { name: "Fedora Linux", pretty: (version) => `Fedora Linux ${version} (Container Image)` },
  ol: { name: "Oracle Linux Server", like: "fedora", pretty: (version) => `Oracle Linux Server ${version}` },
  rocky: { name: "Rocky Linux", like: "rhel centos fedora", pretty: (version) => `Rocky Linux ${version}` },
  ubuntu: {
    name: "Ubuntu",
    like: "debian",
    codenames: { ...UBUNTUS, "24.04": "Noble" },
    pretty: (version) => `Ubuntu ${version}${/[02468]\.04/.test(version) ? " LTS" : ""}`,
  },
};

/**
 * /etc/os-release of an image, by its base and its tag: `12` or `bookworm` of a distribution, `1.25-alpine3.18` of a program.
 * @returns undefined for an image without a distribution
 */
export function osReleaseOf({ base }: ImageDefinition, tag = ""): string | undefined {
  if (base === undefined) return undefined;
  const [usual = "", known = "", isOwn] = base.split(" ");
  const alpine = /alpine(\d+\.\d+)?/.exec(tag);
  const [id, from] = alpine === null ? [usual, known] : ["alpine", alpine[1] ?? "3.18"];
  const distribution = DISTRIBUTIONS[id];
  if (distribution === undefined) return undefined;
  const codenames = Object.entries(distribution.codenames ?? {});
  const named = codenames.find(([, codename]) => tag.includes(codename.toLowerCase()))?.[0];
  const tagged = isOwn === "tagged" ? /^\d+(?:\.\d+)*/.exec(tag)?.[0] : undefined;
  const asked = named ?? tagged ?? from;
  // Debian's point releases share its version; Alpine's tags name the last of a series.
  const major = id === "debian" || id === "distroless" ? (asked.split(".")[0] ?? "") : asked;
  const version = id === "alpine" && major.split(".").length === 2 ? `${major}.0` : major;
  const codename = distribution.codenames?.[version] ?? "";
  const fields: readonly (readonly [string, string | undefined])[] = [
    ["PRETTY_NAME", `"${distribution.pretty(version, codename)}"`],
    ["NAME", `"${distribution.name}"`],
    ["VERSION_ID", `"${version}"`],
    ["VERSION", distribution.version && `"${distribution.version(version, codename)}"`],
    ["VERSION_CODENAME", codename === "" ? undefined : codename.toLowerCase()],
    ["ID", id === "distroless" ? "debian" : id],
    ["ID_LIKE", distribution.like && `"${distribution.like}"`],
  ];
  return fields.flatMap(([name, value]) => (value === undefined ? [] : [`${name}=${value}\n`])).join("");
}
