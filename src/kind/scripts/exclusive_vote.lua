-- A writer's vote where readers may come too (docs/protocol.md, rules S5 and S14). KEYS: the lock, its gate. ARGV: nonce,
-- milliseconds of the lock, milliseconds of a mark. 1: granted. "HELD <milliseconds left> 0 <who>": refused, and a
-- writer's mark is left: it keeps new readers out.
local clock = redis.call('time')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local turn = tonumber(redis.call('zscore', KEYS[2], 'turn') or 0)
if turn <= now and redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2]) then
    redis.call('zrem', KEYS[2], 'writer')
    return 1
end
redis.call('zadd', KEYS[2], now + ARGV[3], 'writer')
redis.call('pexpire', KEYS[2], ARGV[3] * 2)
local kind = redis.call('type', KEYS[1]).ok
local left = kind == 'none' and turn - now or redis.call('pttl', KEYS[1])
local who = kind == 'string' and redis.call('mget', KEYS[1])[1] or kind == 'list' and '' or 'READERS'
return redis.status_reply(string.format('HELD %.0f 0 ', left) .. who:sub(1, 8))
