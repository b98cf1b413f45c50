class ValidationError extends Error {
  constructor(field, message, options) {
    super(`${field}: ${message}`, options);
    this.name = 'ValidationError';
    this.field = field;
  }
}

function parseAge(text) {
  const age = Number.parseInt(text, 10);
  if (Number.isNaN(age)) throw new ValidationError('age', `not a number: ${text}`);
  return age;
}

for (const text of ['42', 'abc']) {
  try {
    console.log('age:', parseAge(text));
  } catch (error) {
    console.log(error.name, error.field, error.message);
  } finally {
    console.log('checked', text);
  }
}
process.on('exit', (code) => console.log('exit code', code));

function load(config) {
  return config.server.port;
}
console.log(load({ server: { port: 80 } }));
load({});
