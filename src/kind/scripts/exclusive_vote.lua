-- SPDX-License-Identifier: BSL-1.0
-- A writer's vote where readers may come too (docs/protocol.md, rules S5 and S14). KEYS: the lock, its gate. ARGV: nonce,
-- milliseconds of the lock, milliseconds of a mark, "1" if it waits when it is refused: then it leaves a mark, which keeps
-- new readers out. 1: granted. "HELD <milliseconds left> 0 <who>": refused. An error: what stands in place of the gate is
-- none.
-- With a fence (rule S16) also KEYS: the fence, the node's marker. ARGV: milliseconds of the fence, proposal, the marker
-- as it was on connecting (empty: not looked at). A number: granted, with that fence. "HELD <milliseconds left> <fence>
-- <who>": refused. "STRANGER": another node than expected. An error: the fence is no number of ours.
local clock = redis.call('time')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local gate = redis.call('type', KEYS[2]).ok
if gate ~= 'none' and (gate ~= 'zset' or redis.call('pttl', KEYS[2]) < 0) then
    return redis.error_reply('WRONGTYPE this is no gate of a lock: ' .. KEYS[2])
end
local fence = 0
local counted = 1
if KEYS[3] then
    local seen = redis.call('mget', KEYS[3], KEYS[4])
    if ARGV[7] ~= '' and seen[2] ~= ARGV[7] then
        return redis.status_reply('STRANGER')
    end
    fence = tonumber(seen[1] or redis.call('pttl', KEYS[3]) == -2 and 0) -- as in fenced_vote.lua
    counted = fence and math.max(fence + 1, math.min(tonumber(ARGV[6]), now + math.floor(ARGV[2] / 2)))
    if not (counted and fence >= 0 and counted < 8796093022208) then
        return redis.error_reply('WRONGTYPE the fence is no number that can be counted on from: ' .. KEYS[3])
    end
end
local turn = tonumber(redis.call('zscore', KEYS[2], 'turn') or 0)
local open = turn > now and turn <= now + ARGV[3] -- or it was made before the clock was set back
if not open and redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2]) then
    redis.pcall('zrem', KEYS[2], 'writer') -- the vote stands, permitted or not
    if KEYS[3] then
        redis.call('set', KEYS[3], string.format('%.0f', counted), 'px', ARGV[5])
    end
    return counted
end
-- Each change wakes all who wait: so not one for each of them.
local mark = tonumber(redis.call('zscore', KEYS[2], 'writer') or 0)
if ARGV[4] == '1' and (mark < now + ARGV[3] * 3 / 4 or mark > now + ARGV[3]) then
    local function keep()
        redis.call('pexpire', KEYS[2], math.max(redis.call('pttl', KEYS[2]), ARGV[3]))
    end
    redis.call('zadd', KEYS[2], 'xx', 0, '') -- as in enter.lua
    keep() -- without the rights to that a gate would be left that never expires
    redis.call('zadd', KEYS[2], now + ARGV[3], 'writer')
    keep()
end
redis.call('zcard', KEYS[2]) -- so that the next change is heard of
local kind = redis.call('type', KEYS[1]).ok
local left = redis.call('pttl', KEYS[1])
local readers = kind == 'none'
if readers then
    left = turn - now
elseif kind == 'zset' and left >= 0 then
    local ends = redis.call('zrange', KEYS[1], -1, -1, 'withscores')[2]
    readers = math.abs(ends - now - left) <= 1000
end
local who = redis.call('mget', KEYS[1])[1] or readers and 'READERS' or ''
return redis.status_reply(string.format('HELD %.0f %.0f ', left, fence) .. who:sub(1, 8))
