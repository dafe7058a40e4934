import type { Self } from "../process/process.js";
import { COOKED, type Terminal, type TerminalModes, terminalOf } from "../process/terminal.js";
import { complain, print } from "./console.js";

const OFF = { isCanonical: false, echoes: false, hasSignals: false, mapsInput: false, mapsOutput: false };
const SETTINGS: Readonly<Record<string, Partial<TerminalModes>>> = {
  sane: COOKED,
  cooked: COOKED,
  "-raw": COOKED,
  raw: { ...OFF, echoes: true },
  "-cooked": { ...OFF, echoes: true },
  echo: { echoes: true },
  "-echo": { echoes: false },
  icanon: { isCanonical: true },
  "-icanon": { isCanonical: false },
  cbreak: { isCanonical: false },
  "-cbreak": { isCanonical: true },
  isig: { hasSignals: true },
  "-isig": { hasSignals: false },
  icrnl: { mapsInput: true },
  "-icrnl": { mapsInput: false },
  onlcr: { mapsOutput: true },
  "-onlcr": { mapsOutput: false },
  opost: { mapsOutput: true },
  "-opost": { mapsOutput: false },
};

/** `stty [-a | size | rows N | cols N | [-]echo | [-]icanon | [-]isig | raw | sane ...]`: the terminal of stdin. */
export async function stty(self: Self): Promise<number> {
  const terminal = terminalOf(self.stdin);
  if (terminal === undefined) {
    await complain(self, "standard input: Inappropriate ioctl for device");
    return 1;
  }
  const args = self.argv.slice(1);
  if (args.length === 0 || args[0] === "-a") {
    await print(self, description(terminal));
    return 0;
  }
  for (let at = 0; at < args.length; at++) {
    const arg = args[at] as string;
    const setting = Object.hasOwn(SETTINGS, arg) ? SETTINGS[arg] : undefined;
    if (setting !== undefined) terminal.modes = { ...terminal.modes, ...setting };
    else if (arg === "size") await print(self, `${terminal.size.height} ${terminal.size.width}\n`);
    else if (/^(rows|cols|columns)$/.test(arg)) {
      const count = Number(args[++at]);
      if (!Number.isInteger(count) || count < 1) return bad(self, args[at] ?? arg);
      terminal.resize({ ...terminal.size, [arg === "rows" ? "height" : "width"]: count });
    } else return bad(self, arg);
  }
  return 0;
}

async function bad(self: Self, arg: string): Promise<number> {
  await complain(self, `invalid argument '${arg}'`);
  return 1;
}

function description({ size, modes }: Terminal): string {
  const flag = (isOn: boolean, name: string) => `${isOn ? "" : "-"}${name}`;
  return [
    `speed 38400 baud; rows ${size.height}; columns ${size.width};`,
    "intr = ^C; quit = ^\\; erase = ^?; kill = ^U; eof = ^D; susp = ^Z; werase = ^W;",
    `${flag(modes.hasSignals, "isig")} ${flag(modes.isCanonical, "icanon")} ${flag(modes.echoes, "echo")} ${flag(modes.mapsInput, "icrnl")} ${flag(modes.mapsOutput, "onlcr")}`,
    "",
  ].join("\n");
}

/** `tty`: the name of stdin's terminal. */
export async function tty(self: Self): Promise<number> {
  const isTerminal = terminalOf(self.stdin) !== undefined;
  await print(self, isTerminal ? "/dev/pts/0\n" : "not a tty\n");
  return isTerminal ? 0 : 1;
}

/** `clear`, `reset`: clears the screen; `reset` also restores the terminal's default modes. */
export async function clear(self: Self): Promise<number> {
  const isReset = (self.argv[0] ?? "").endsWith("reset");
  const terminal = terminalOf(self.stdin);
  if (isReset && terminal !== undefined) terminal.modes = COOKED;
  await print(self, isReset ? "\x1bc\x1b(B\x1b[m\x1b[J\x1b[?25h" : "\x1b[H\x1b[J");
  return 0;
}
