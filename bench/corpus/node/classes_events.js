const { EventEmitter } = require('events');

class Stack {
  #items = [];
  static from(iterable) {
    const stack = new Stack();
    for (const item of iterable) stack.push(item);
    return stack;
  }
  push(item) {
    this.#items.push(item);
    return this;
  }
  pop() {
    if (this.#items.length === 0) throw new RangeError('the stack is empty');
    return this.#items.pop();
  }
  get size() {
    return this.#items.length;
  }
  *[Symbol.iterator]() {
    for (let i = this.#items.length - 1; i >= 0; i--) yield this.#items[i];
  }
}

class Shop extends EventEmitter {
  sell(name, price) {
    this.emit('sale', { name, price });
    return this;
  }
}

const stack = Stack.from('abc');
console.log([...stack], stack.size, stack.pop());
const shop = new Shop();
let total = 0;
shop.on('sale', ({ price }) => (total += price));
shop.once('sale', ({ name }) => console.log('first sale:', name));
shop.sell('tea', 3).sell('cup', 7);
console.log('total:', total, 'listeners:', shop.listenerCount('sale'));
try {
  new Stack().pop();
} catch (error) {
  console.log(`${error.name}: ${error.message}`, error instanceof RangeError);
}
