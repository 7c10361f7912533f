// Reads what topics/cases.py packed, a line each: a header in JSON, and the columns as typed arrays.
async function unpackCases(lines) {
  const packed = await Promise.all(lines.split("\n").map(unpackLine));
  const joined = (name) => Object.assign({}, ...packed.map((part) => part[name]));
  return { header: joined("header"), columns: joined("columns") };
}

async function unpackLine(base64) {
  const raw = atob(base64);
  const bytes = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const buffer = await new Response(stream).arrayBuffer();
  const length = new DataView(buffer).getUint32(0, true);
  const header = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
  const kinds = { uint8: Uint8Array, uint16: Uint16Array, int16: Int16Array, int32: Int32Array, uint32: Uint32Array };
  const columns = {};
  let offset = 4 + length;
  for (const [name, kind, count] of header.columns) {
    const end = offset + count * kinds[kind].BYTES_PER_ELEMENT;
    columns[name] = new kinds[kind](buffer.slice(offset, end));
    offset = end;
  }
  return { header, columns };
}
