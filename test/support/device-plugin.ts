import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  credentials,
  loadPackageDefinition,
  Server,
  ServerCredentials,
  type ServerWritableStream,
  type ServiceClientConstructor,
  type ServiceError,
  type sendUnaryData,
} from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

const PROTO = fileURLToPath(new URL("device-plugin.proto", import.meta.url));
const definition = loadSync(PROTO, { keepCase: true, longs: Number, defaults: true });
const { v1beta1 } = loadPackageDefinition(definition) as unknown as {
  v1beta1: { Registration: ServiceClientConstructor; DevicePlugin: ServiceClientConstructor };
};

type Device = {
  readonly ID: string;
  readonly health: string;
  readonly topology?: { nodes: readonly { ID: number }[] };
};
type Answer = (error: Partial<ServiceError> | null, value: object) => void;

/** How a plugin behaves; by default it gives an environment variable, and has no options. */
export interface Behaviour {
  readonly options?: { readonly pre_start_required?: boolean; readonly get_preferred_allocation_available?: boolean };
  /** undefined: it does not answer */
  readonly allocate?: (ids: readonly string[]) => { readonly container_responses: readonly object[] } | undefined;
  readonly prefer?: (available: readonly string[], mustInclude: readonly string[], size: number) => readonly string[];
  readonly preStart?: (ids: readonly string[]) => Partial<ServiceError> | null;
}

export const healthy = (...ids: readonly string[]): Device[] => ids.map((ID) => ({ ID, health: "Healthy" }));

/** A device plugin by grpc-js and a .proto file, as a plugin of another project would be. */
export class ForeignPlugin {
  /** what was asked of it: `Allocate gpu-0 gpu-1` */
  readonly calls: string[] = [];
  readonly #server = new Server();
  readonly #streams = new Set<ServerWritableStream<object, object>>();
  #devices: readonly Device[];

  private constructor(
    readonly folder: string,
    readonly socket: string,
    devices: readonly Device[],
  ) {
    this.#devices = devices;
  }

  static async serve(
    folder: string,
    devices: readonly Device[],
    behaviour: Behaviour = {},
    socket = "foreign.sock",
  ): Promise<ForeignPlugin> {
    const plugin = new ForeignPlugin(folder, socket, devices);
    plugin.#server.addService(v1beta1.DevicePlugin.service, plugin.#handlers(behaviour));
    await new Promise<void>((resolve, reject) => {
      const bound = (error: Error | null) => (error === null ? resolve() : reject(error));
      plugin.#server.bindAsync(`unix://${join(folder, socket)}`, ServerCredentials.createInsecure(), bound);
    });
    return plugin;
  }

  #handlers({ options = {}, allocate = giveVariable, prefer, preStart }: Behaviour) {
    const noted = (method: string, ids: readonly string[]) => this.calls.push([method, ...ids].join(" "));
    return {
      GetDevicePluginOptions: (_call: object, answer: Answer) => answer(null, options),
      ListAndWatch: (stream: ServerWritableStream<object, object>) => {
        this.#streams.add(stream);
        stream.on("cancelled", () => this.#streams.delete(stream));
        stream.write({ devices: this.#devices });
      },
      GetPreferredAllocation: ({ request }: Call, answer: Answer) => {
        const [asked] = request.container_requests;
        const {
          available_deviceIDs: available = [],
          must_include_deviceIDs: include = [],
          allocation_size = 0,
        } = asked ?? {};
        noted(`GetPreferredAllocation ${allocation_size} of`, available);
        answer(null, { container_responses: [{ deviceIDs: prefer?.(available, include, allocation_size) ?? [] }] });
      },
      Allocate: ({ request }: Call, answer: Answer) => {
        const ids = request.container_requests[0]?.devicesIDs ?? [];
        noted("Allocate", ids);
        const given = allocate(ids);
        if (given !== undefined) answer(null, given);
      },
      PreStartContainer: ({ request }: { readonly request: { devicesIDs: readonly string[] } }, answer: Answer) => {
        noted("PreStartContainer", request.devicesIDs);
        answer(preStart?.(request.devicesIDs) ?? null, {});
      },
    } as unknown as Parameters<Server["addService"]>[1];
  }

  /** Says that its devices are now these. */
  list(devices: readonly Device[]): void {
    this.#devices = devices;
    for (const stream of this.#streams) stream.write({ devices });
  }

  /** @throws the kubelet's ServiceError */
  register(
    resource_name: string,
    { version = "v1beta1", endpoint = this.socket }: { readonly version?: string; readonly endpoint?: string } = {},
  ): Promise<void> {
    const client = new v1beta1.Registration(
      `unix://${join(this.folder, "kubelet.sock")}`,
      credentials.createInsecure(),
    ) as unknown as { Register(request: object, answer: sendUnaryData<object>): void; close(): void };
    return new Promise<void>((resolve, reject) => {
      const request = { version, endpoint, resource_name };
      client.Register(request, (error) => (error === null ? resolve() : reject(error)));
    }).finally(() => client.close());
  }

  /** Dies: its connections break. */
  close(): void {
    this.#server.forceShutdown();
  }
}

interface Call {
  readonly request: {
    readonly container_requests: readonly {
      readonly devicesIDs?: readonly string[];
      readonly available_deviceIDs?: readonly string[];
      readonly must_include_deviceIDs?: readonly string[];
      readonly allocation_size?: number;
    }[];
  };
}

function giveVariable(ids: readonly string[]) {
  return { container_responses: [{ envs: { DEVICES: ids.join(",") } }] };
}
