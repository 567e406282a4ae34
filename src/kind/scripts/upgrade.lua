-- Makes the only reader into a writer (docs/protocol.md, rules S8 and S13). KEYS[1] the lock. ARGV: nonce, milliseconds.
-- 1: done, 0: we are none here, or not the only one; then nothing is changed. What we hold as a writer already is renewed.
local clock = redis.call('time')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local kind = redis.call('type', KEYS[1]).ok
if kind == 'string' and redis.call('get', KEYS[1]) == ARGV[1] then
    return redis.call('pexpire', KEYS[1], ARGV[2])
end
if kind ~= 'zset' or redis.call('zcount', KEYS[1], now + 1, '+inf') ~= 1 then
    return 0
end
local ends = redis.call('zscore', KEYS[1], ARGV[1])
if not ends or tonumber(ends) <= now then
    return 0
end
redis.call('set', KEYS[1], ARGV[1], 'px', ARGV[2])
return 1
