import { join } from "node:path";
import { LabError, messageOf } from "../../../util/errors.js";
import { readIfThere, writeFileAtomic } from "../../../util/os/files.js";
import { compareText } from "../../../util/text/compare-text.js";
import { ContainerAllocateResponse } from "../../apis/deviceplugin/v1beta1.js";
import { fnv32a } from "../../container/hash.js";
import type { PodDevicesEntry } from "./pod-devices.js";

/** Mirrors kubeletDeviceManagerCheckpoint. */
const CHECKPOINT = "kubelet_internal_checkpoint";

/** The state that the device manager needs after a restart of the kubelet. Mirrors checkpointData. */
export interface DeviceCheckpoint {
  readonly podDevices: readonly PodDevicesEntry[];
  /** the healthy devices, by resource */
  readonly registeredDevices: Readonly<Record<string, readonly string[]>>;
}

/** The file's `Data`. */
interface Data {
  readonly PodDeviceEntries: readonly Entry[] | null;
  readonly RegisteredDevices: Readonly<Record<string, readonly string[]>>;
}

interface Entry {
  readonly PodUID: string;
  readonly ContainerName: string;
  readonly ResourceName: string;
  readonly DeviceIDs: Readonly<Record<string, readonly string[]>>;
  /** base64 of the message */
  readonly AllocResp: string;
}

/** @throws LabError BAD_FILE */
export function writeCheckpoint(folder: string, checkpoint: DeviceCheckpoint): Promise<void> {
  return writeFileAtomic(join(folder, CHECKPOINT), marshalCheckpoint(checkpoint), { mode: 0o600 });
}

/** @returns undefined if there is none @throws LabError BAD_FILE if it cannot be read, or is corrupt */
export async function readCheckpoint(folder: string): Promise<DeviceCheckpoint | undefined> {
  const path = join(folder, CHECKPOINT);
  const text = await readIfThere(path);
  if (text === undefined) return undefined;
  try {
    return unmarshalCheckpoint(text);
  } catch (cause) {
    throw new LabError("BAD_FILE", `${path}: ${messageOf(cause)}`, "Remove it, and restart the pods with devices.", {
      cause,
    });
  }
}

/**
 * The checkpoint as a Go kubelet writes it.
 * Mirrors MarshalCheckpoint in pkg/kubelet/cm/devicemanager/checkpoint/checkpoint.go.
 */
export function marshalCheckpoint({ podDevices, registeredDevices }: DeviceCheckpoint): string {
  const entries = podDevices.map(({ podUid, containerName, resourceName, deviceIds, allocResp }) => ({
    PodUID: podUid,
    ContainerName: containerName,
    ResourceName: resourceName,
    DeviceIDs: deviceIds,
    AllocResp: ContainerAllocateResponse.encode(allocResp).toString("base64"),
  }));
  const data: Data = { PodDeviceEntries: entries.length === 0 ? null : entries, RegisteredDevices: registeredDevices };
  return JSON.stringify({ Data: data, Checksum: checksumOf(data) });
}

/**
 * Reads the checkpoint of this kubelet or a Go kubelet.
 * Mirrors UnmarshalCheckpoint and VerifyChecksum.
 * @throws Error `checkpoint is corrupted`, or that of the JSON
 */
export function unmarshalCheckpoint(text: string): DeviceCheckpoint {
  const { Data: data, Checksum: checksum } = JSON.parse(text) as { readonly Data: Data; readonly Checksum: number };
  if (!isIntact(data, checksum)) throw new Error("checkpoint is corrupted");
  const podDevices = (data.PodDeviceEntries ?? []).map((entry) => ({
    podUid: entry.PodUID,
    containerName: entry.ContainerName,
    resourceName: entry.ResourceName,
    deviceIds: entry.DeviceIDs,
    allocResp: ContainerAllocateResponse.decode(Buffer.from(entry.AllocResp, "base64")),
  }));
  return { podDevices, registeredDevices: data.RegisteredDevices };
}

/** Data of another shape has no checksum. */
function isIntact(data: Data, checksum: unknown): boolean {
  try {
    return checksumOf(data) === checksum;
  } catch {
    return false;
  }
}

/** Mirrors checksum.New in pkg/kubelet/checkpointmanager/checksum/checksum.go. */
function checksumOf({ PodDeviceEntries, RegisteredDevices }: Data): number {
  const entries = PodDeviceEntries === null ? "<nil>" : `[${PodDeviceEntries.map(printEntry).join(" ")}]`;
  const registered = printMap(RegisteredDevices, compareText);
  return fnv32a(
    `(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)${entries} RegisteredDevices:(map[string][]string)${registered}}`,
  );
}

/** As spew prints it with %#v. */
function printEntry({ PodUID, ContainerName, ResourceName, DeviceIDs, AllocResp }: Entry): string {
  const names = `PodUID:(string)${PodUID} ContainerName:(string)${ContainerName} ResourceName:(string)${ResourceName}`;
  const devices = printMap(DeviceIDs, (a, b) => Number(a) - Number(b));
  const bytes = Buffer.from(AllocResp, "base64").join(" ");
  return `{${names} DeviceIDs:(checkpoint.DevicesPerNUMA)${devices} AllocResp:([]uint8)[${bytes}]}`;
}

function printMap(map: Readonly<Record<string, readonly string[]>>, compare: (a: string, b: string) => number): string {
  const keys = Object.keys(map).sort(compare);
  return `map[${keys.map((key) => `${key}:[${map[key]?.join(" ")}]`).join(" ")}]`;
}
