// Texts for each asserted format with the answer its RFC gives.
//
// A text where ajv-formats answers otherwise names the official test (optional/format) that ajv fails; the run
// checks at its start that exactly those differ.

const yes = (...texts) => texts.map((text) => ({ text, valid: true }));
const no = (...texts) => texts.map((text) => ({ text, valid: false }));
const but = (text, valid, suite) => ({ text, valid, suite });

export const FORMATS = {
  'date-time': [
    ...yes(
      '1963-06-19T08:30:06.283185Z',
      '1990-12-31T15:59:50.123-08:00',
      '2024-02-29t00:00:00z',
      '1998-12-31T23:59:60Z',
    ),
    ...no(
      '1963-06-19',
      '2023-02-29T00:00:00Z',
      '1990-12-31T15:59:59-24:00',
      '1963-06-19T08:30:06',
      '2020-13-01T00:00:00Z',
      'T',
    ),
    but('1985-04-12T23:20:50+01', false, 'date-time.json: a numeric offset without minutes is invalid'),
  ],
  date: [
    ...yes('1963-06-19', '2024-02-29', '2000-02-29', '1999-12-31', '0001-01-01'),
    ...no(
      '2023-02-29',
      '1900-02-29',
      '1998-1-20',
      '06/19/1963',
      '2020-00-10',
      '2020-04-31',
      '1963-06-1৪',
      '1963-06-19Z',
    ),
  ],
  time: [
    ...yes('08:30:06Z', '08:30:06.283185Z', '08:30:06+00:20', '23:59:60Z', '08:30:06-08:00'),
    ...no('08:30:06', '24:00:00Z', '00:60:00Z', '8:3:6Z', '08:30:06#00:20', '12:00:00+24:00', 'noon'),
  ],
  duration: [
    ...yes('P4DT12H30M5S', 'P4Y', 'PT0S', 'P1M', 'PT1M', 'PT36H', 'P1DT12H', 'P2W'),
    ...no('PT1D', 'P', 'P1YT', 'PT', 'P2D1Y', 'P1', '4DT12H', 'P1Y2W', 'P২Y'),
    but('P1Y2D', false, 'duration.json: years and days cannot appear without months'),
    but('PT1H2S', false, 'duration.json: hours and seconds cannot appear without minutes'),
  ],
  email: [
    ...yes('joe.bloggs@example.com', 'te~st@example.com', '~test@example.com', 'a+b@example.org'),
    ...no('2962', '.test@example.com', 'test.@example.com', 'te..st@example.com', 'a@', '@b.com', 'a b@c.de'),
    but(
      '"joe bloggs"@example.com',
      true,
      'email.json: a quoted string with a space in the local part is valid',
    ),
    but('joe.bloggs@[127.0.0.1]', true, 'email.json: an IPv4-address-literal after the @ is valid'),
  ],
  hostname: [
    ...yes('www.example.com', 'h0stn4me', 'a-b', 'hostname', '1host'),
    ...no('-a-host-name-that-starts-with--', 'not_a_valid_host_name', 'host-', 'a..b', '', '.example', 'a b'),
    but('example.', false, 'hostname.json: trailing dot'),
  ],
  ipv4: [
    ...yes('192.168.0.1', '0.0.0.0', '255.255.255.255', '87.10.0.1'),
    ...no(
      '127.0.0.0.1',
      '256.256.256.256',
      '127.0',
      '0x7f000001',
      '087.10.0.1',
      '1২7.0.0.1',
      '192.168.1.0/24',
      ' 1.2.3.4',
    ),
  ],
  ipv6: [
    ...yes('::1', '::', '::ffff:192.168.0.1', '1:2:3:4:5:6:7:8', 'd6::', 'FE80::1'),
    ...no(
      '12345::',
      '1:1:1:1:1:1:1:1:1',
      ':2:3:4:5:6:7:8',
      '1::d6::42',
      '::laptop',
      '1:2::192.168.256.1',
      'fe80::a%eth1',
      '::1/64',
    ),
  ],
  uri: [
    ...yes(
      'http://foo.bar/?baz=qux#quux',
      'urn:oasis:names:specification:docbook:dtd:xml:4.1.2',
      'mailto:John.Doe@example.com',
      'https://[2001:db8::7]/c=GB?objectClass?one',
      'http://a/%20',
      'ftp://u:p@h:21/x;y=1',
    ),
    ...no(
      '//foo.bar/?baz=qux#quux',
      '/abc',
      '\\\\WINDOWS\\fileshare',
      'abc',
      'http:// shouldfail.com',
      'http://a/%zz',
      'bar,baz:foo',
    ),
  ],
  'uri-reference': [
    ...yes('http://foo.bar/?baz=qux#quux', '/abc', 'abc', '#fragment', '?q=1', '', '//host/path', '../up'),
    ...no('\\\\WINDOWS\\fileshare', '#frag\\ment', 'a b', 'http://a/%zz', '/a\\b', '<x>'),
    but('1:b', false, 'uri-reference.json: a colon in the first segment of a relative-path reference'),
  ],
  uuid: [
    ...yes(
      '2EB8AA08-AA98-11EA-B4AA-73B441D16380',
      '2eb8aa08-aa98-11ea-b4aa-73b441d16380',
      '00000000-0000-0000-0000-000000000000',
    ),
    ...no(
      '2eb8aa08-aa98-11ea-b4aa-73b441d1638',
      '2eb8aa08aa9811eab4aa73b441d16380',
      '2eb8aa08-aa98-11ea-73b441d16380',
      'g',
    ),
    but('urn:uuid:2eb8aa08-aa98-11ea-b4aa-73b441d16380', false, 'uuid.json: URN prefixed UUID is invalid'),
  ],
  'uri-template': [
    ...yes(
      'http://example.com/dictionary/{term:1}/{term}',
      'dictionary/{term}',
      'plain',
      '{+path}/here',
      '{?x,y}',
      '{list*}',
    ),
    ...no('http://example.com/dictionary/{term:1}/{term', '{', '}', '{}', 'a b', '{a:0}'),
    but('{a.b}', true, 'uri-template.json: a dotted variable name is valid'),
  ],
  'json-pointer': [
    ...yes('/foo/bar~0/baz~1/%a', '', '/', '/foo/0', '/a~1b', '/i\\j', '/ ', '//', '/foo/-'),
    ...no('/foo/bar~', '#', '#/', 'a', '0', '/~2', '/~', 'a/a'),
  ],
  'relative-json-pointer': [
    ...yes('1', '0/foo/bar', '2/0/baz/1/zip', '0#', '120/x'),
    ...no('/foo/bar', '-1/foo/bar', '+1/foo', '0##', '01/a', '01#', '', 'a'),
  ],
  regex: [
    ...yes('([abc])+\\s+$', '^a{2}$', '\\p{L}', '[^\\d]', '', 'a|b', '(?:x)?'),
    ...no('^(abc]', 'a**', '[b-a]', '(', '\\', 'a{2,1}'),
    but('\\a', false, 'ecmascript-regex.json: \\a is not an ECMA 262 control escape'),
  ],
};

// Grammars of the RFCs, for texts that are near those of the table. `ajv` is ajv-formats' answer: where its grammar is
// the RFC's, or wrong only in a way named here, it stands.
const TIME = '(?:\\d+H(?:\\d+M(?:\\d+S)?)?|\\d+M(?:\\d+S)?|\\d+S)';
const DURATION = new RegExp(
  `^P(?:(?:\\d+D|\\d+M(?:\\d+D)?|\\d+Y(?:\\d+M(?:\\d+D)?)?)(?:T${TIME})?|T${TIME}|\\d+W)$`,
); // RFC 3339 appendix A
const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
const HOST = new RegExp(`^(?=.{1,253}$)${LABEL}(?:\\.${LABEL})*$`);
const ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
const QUOTED = '"(?:[ !#-\\[\\]-~]|\\\\[ -~])*"';
const MAILBOX = new RegExp(
  `^(?:${ATOM}(?:\\.${ATOM})*|${QUOTED})@(?:(${LABEL}(?:\\.${LABEL})*)|\\[([0-9.]+)\\]|\\[IPv6:([0-9A-Fa-f:.]+)\\])$`,
);
const VARNAME = '(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2})(?:\\.?(?:[A-Za-z0-9_]|%[0-9A-Fa-f]{2}))*';
const VARSPEC = `${VARNAME}(?::[1-9]\\d{0,3}|\\*)?`;
const TEMPLATE = new RegExp(
  `^(?:[!#$&'()*+,\\-./0-9:;=?@A-Z\\[\\]_a-z~\\u{a0}-\\u{d7ff}\\u{f900}-\\u{ffef}\\u{10000}-\\u{10fffd}]|%[0-9A-Fa-f]{2}|\\{[+#./;?&=,!@|]?${VARSPEC}(?:,${VARSPEC})*\\})*$`,
  'u',
);
const OFFSET = /(?:[zZ]|[+-]\d\d:\d\d)$/;

const GRAMMARS = {
  'date-time': (text, ajv) => ajv('date-time') && /^\d{4}-\d\d-\d\d[tT]/.test(text) && OFFSET.test(text),
  time: (text, ajv) => ajv('time') && OFFSET.test(text),
  duration: (text) => DURATION.test(text),
  email: (text, ajv) => {
    const [, host, four, six] = MAILBOX.exec(text) ?? [];
    return (
      (host !== undefined && HOST.test(host)) ||
      (four !== undefined && ajv('ipv4', four)) ||
      (six !== undefined && ajv('ipv6', six))
    );
  },
  hostname: (text) => HOST.test(text),
  'uri-reference': (text, ajv) =>
    ajv('uri-reference') &&
    !text.includes('"') &&
    (!/^[^/?#]*:/.test(text) || /^[A-Za-z][A-Za-z0-9+.-]*:/.test(text)),
  'uri-template': (text) => TEMPLATE.test(text),
  uuid: (text, ajv) => ajv('uuid') && !/^urn:/i.test(text),
  // Core 6.4: a pattern is meant with the "u" flag; ajv-formats tries it without.
  regex: (text) => {
    try {
      return Boolean(new RegExp(text, 'u'));
    } catch {
      return false;
    }
  },
};

function byGrammar(name, text, ajvFormat) {
  const ajv = (other, part = text) => ajvFormat(other, part);
  return GRAMMARS[name] ? GRAMMARS[name](text, ajv) : ajvFormat(name, text);
}

const NOT_IN_DRAFT7 = new Set(['duration', 'uuid']);

export function formatNames(dialect) {
  return Object.keys(FORMATS).filter((name) => dialect !== 'draft7' || !NOT_IN_DRAFT7.has(name));
}

/// formats(name, text, asAjv) for the reference; `ajvFormat` is ajv-formats' answer.
export function makeFormats(ajvFormat) {
  return (name, text, asAjv) => {
    if (!Object.hasOwn(FORMATS, name)) return true;
    return asAjv ? ajvFormat(name, text) : byGrammar(name, text, ajvFormat);
  };
}

/// Rows of the table that the grammar answers otherwise, or whose mark does not say what ajv-formats does.
export function wronglyMarked(ajvFormat) {
  return Object.entries(FORMATS).flatMap(([name, rows]) =>
    rows
      .filter(
        (row) =>
          byGrammar(name, row.text, ajvFormat) !== row.valid ||
          (ajvFormat(name, row.text) === row.valid) === Boolean(row.suite),
      )
      .map((row) => `${name} ${JSON.stringify(row.text)}`),
  );
}
