# SPDX-License-Identifier: BSL-1.0
"""redis-py with its default settings.

usage: redis_python.py PORT [CHECK...]     without these checks
"""
import asyncio
import sys
import threading

import redis
import redis.asyncio

port, left_out = int(sys.argv[1]), sys.argv[2:]


def connect():
    return redis.Redis(port=port, socket_timeout=20)


def require(condition, text):
    if not condition:
        raise AssertionError(text)


def values(_):
    failed = []

    def work(number):
        try:
            client = connect()
            for i in range(50):
                client.set(f"py:{number}", i)
                require(int(client.get(f"py:{number}")) == i, f"{number}: not {i}")
        except Exception as error:  # of another thread: told below
            failed.append(repr(error))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(10)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    require(not failed, failed)


def pipeline(client):
    client.delete("py:{p}")
    with client.pipeline(transaction=False) as many:
        for _ in range(100):
            many.incr("py:{p}")
        require(many.execute() == list(range(1, 101)), "other replies")


def transaction(client):
    client.delete("py:{t}")
    with client.pipeline() as both:
        both.set("py:{t}", 1)
        both.incr("py:{t}")
        require(both.execute()[1] == 2, "another reply")


def script(client):
    add = client.register_script("return redis.call('INCRBY', KEYS[1], ARGV[1])")
    client.delete("py:{s}")
    for i in range(5):
        require(add(keys=["py:{s}"], args=[2]) == 2 * (i + 1), "another sum")


def messages(client):
    with client.pubsub() as listener:
        listener.subscribe("py:channel")
        require(listener.get_message(timeout=10)["type"] == "subscribe", "no subscription")
        client.publish("py:channel", "hello")
        require(listener.get_message(timeout=10)["data"] == b"hello", "no message")


def blocking(client):
    client.delete("py:{l}")
    pushing = threading.Thread(target=lambda: connect().rpush("py:{l}", "x"))
    pushing.start()
    require(client.blpop("py:{l}", timeout=10) == (b"py:{l}", b"x"), "another value")
    pushing.join()


def cluster(_):
    client = redis.RedisCluster(host="127.0.0.1", port=port)
    for i in range(100):
        client.set(f"py:c{i}", i)
        require(int(client.get(f"py:c{i}")) == i, "another value")
    client.close()


def asynchronous(_):
    async def all_at_once():
        client = redis.asyncio.Redis(port=port)
        await asyncio.gather(*(client.set(f"py:a{i}", i) for i in range(50)))
        found = await asyncio.gather(*(client.get(f"py:a{i}") for i in range(50)))
        require([int(one) for one in found] == list(range(50)), found)
        await client.aclose()

    asyncio.run(all_at_once())


def main():
    client = connect()
    for name, run in (
        ("values", values),
        ("asyncio", asynchronous),
        ("a pipeline", pipeline),
        ("a transaction", transaction),
        ("messages", messages),
        ("a script", script),
        ("a blocking command", blocking),
        ("a cluster's client", cluster),
    ):
        if name in left_out:
            continue
        try:
            run(client)
        except Exception as error:  # whatever the library raises is its answer
            print(f"FAILED: {name}: {error!r}")
            return 1
        print(f"ok: {name}", flush=True)
    return 0


sys.exit(main())
