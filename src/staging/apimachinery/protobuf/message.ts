import { compileDecoder } from "./decode.js";
import { compileEncoder } from "./encode.js";
import { type Decode, type DecodedFields, type Encode, Encoded, type FieldTable, type InitFields } from "./fields.js";
import { Reader } from "./reader.js";
import { Writer } from "./writer.js";

const SPARE_BYTES = 8;

/**
 * One message type: a table of fields, with an encoder and decoder that are built on first use.
 *
 * A projection is another Message for the same bytes with fewer rows: it skips other fields without decoding them.
 */
export class Message<F extends FieldTable> {
  #decode: Decode | undefined;
  #encode: Encode | undefined;
  #lastSize = 0;

  constructor(
    readonly name: string,
    readonly fields: F,
  ) {}

  /** @throws ProtobufError for bytes that are not a valid message */
  decode(bytes: Buffer): DecodedFields<F> {
    return this.decoder(new Reader(bytes), undefined) as DecodedFields<F>;
  }

  encode(value: InitFields<F>): Buffer {
    const writer = new Writer(this.#lastSize);
    this.encoder(writer, value);
    // Reuses the last size as a hint: a list of eight megabytes is then written without growing the buffer.
    this.#lastSize = writer.length + (writer.length >> 3) + SPARE_BYTES;
    return writer.finish();
  }

  /** Encodes a value once that will be part of many messages. */
  encoded(value: InitFields<F>): Encoded {
    const writer = new Writer();
    this.encoder(writer, value);
    return new Encoded(Buffer.from(writer.finish()));
  }

  /** The value with every field present, as after encoding and decoding. */
  create(value: InitFields<F>): DecodedFields<F> {
    return this.decode(this.encode(value));
  }

  /** A projection to some of the fields. */
  pick<K extends keyof F & string>(...names: readonly K[]): Message<Pick<F, K>> {
    const picked = Object.fromEntries(names.map((name) => [name, this.fields[name]])) as unknown as Pick<F, K>;
    return new Message(this.name, picked);
  }

  get decoder(): Decode {
    this.#decode ??= compileDecoder(this.fields);
    return this.#decode;
  }

  get encoder(): Encode {
    this.#encode ??= compileEncoder(this.fields);
    return this.#encode;
  }
}

/** Describes a message by its fields. @param name as in the .proto file */
export function message<F extends FieldTable>(name: string, fields: F): Message<F> {
  return new Message(name, fields);
}
