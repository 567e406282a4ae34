-- SPDX-License-Identifier: BSL-1.0
-- A reader's vote (docs/protocol.md, rules S1 to S4). KEYS: the lock, its gate. ARGV: nonce, milliseconds of the lock,
-- milliseconds that a turn of the readers must last for this one (0: it does not wait, and leaves no mark), milliseconds
-- of a writer's mark and the longest turn. 1: granted. "HELD <milliseconds left> 0 <who>": refused. An error: what
-- stands in place of the gate is none.
-- With a fence (rule S16) also KEYS: the fence, the node's marker. ARGV: milliseconds of the fence, milliseconds of the
-- quarantine, the marker as it was on connecting (empty: not looked at). The fence: granted. "HELD <milliseconds left>
-- <fence> <who>": refused. "STRANGER": another node than expected. An error: the fence is no number of ours.
-- Readers are members of a sorted set, each with its own end, and the key ends with the last of them.
local clock = redis.call('time')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local gate = redis.call('type', KEYS[2]).ok
if gate ~= 'none' and (gate ~= 'zset' or redis.call('pttl', KEYS[2]) < 0) then
    return redis.error_reply('WRONGTYPE this is no gate of a lock: ' .. KEYS[2])
end
local fence = 0
local snapshot = 1
if KEYS[3] then
    local seen = redis.call('mget', KEYS[3], KEYS[4])
    if ARGV[7] ~= '' and seen[2] ~= ARGV[7] then
        return redis.status_reply('STRANGER')
    end
    fence = tonumber(seen[1] or redis.call('pttl', KEYS[3]) == -2 and 0) -- as in fenced_vote.lua
    -- A later date than that of all that the node may have forgotten, and no later than a proposal may be. A round one, so
    -- that readers that come together find the same on all nodes.
    local function later_date(moment)
        local step = math.floor(ARGV[2] / 2)
        return moment - moment % step + step
    end
    local remembers = later_date(now)
    if seen[1] then
        local placed = tonumber(string.match(seen[2] or '', '/(%d+)$'))
        remembers = placed and math.min(later_date(placed + ARGV[6]), remembers) or 0
    end
    snapshot = fence and math.max(fence, remembers, 1)
    if not (snapshot and fence >= 0 and snapshot < 8796093022208) then
        return redis.error_reply('WRONGTYPE the fence is no number that can be counted on from: ' .. KEYS[3])
    end
end
-- A mark that counts for longer was made before the clock was set back.
local function marked(who)
    local ends = tonumber(redis.call('zscore', KEYS[2], who) or 0)
    return ends > now and ends <= now + ARGV[4] and ends
end
local function last_end()
    return redis.call('zrange', KEYS[1], -1, -1, 'withscores')[2]
end
-- As in enter.lua.
local function need_memory(key)
    redis.call('zadd', key, 'xx', 0, '')
end
local kind = redis.call('type', KEYS[1]).ok
local left = redis.call('pttl', KEYS[1])
local ends = kind == 'zset' and left >= 0 and last_end()
local readers = ends and math.abs(ends - now - left) <= 1000
local writer = not marked('turn') and marked('writer')
if not writer and (readers or kind == 'none') then
    if KEYS[3] then
        redis.call('set', KEYS[3], string.format('%.0f', snapshot), 'px', ARGV[5])
    end
    need_memory(KEYS[1])
    -- This changes nothing. But without the right to it a set would be left that never expires.
    redis.call('pexpireat', KEYS[1], readers and ends or now)
    redis.call('zremrangebyscore', KEYS[1], '-inf', now)
    redis.call('zadd', KEYS[1], now + ARGV[2], ARGV[1])
    redis.call('pexpireat', KEYS[1], last_end())
    return snapshot
end
if writer and (readers or kind == 'none') then
    left = writer - now
end
if tonumber(ARGV[3]) > 0 then
    need_memory(KEYS[2])
    local waits = tonumber(redis.call('zscore', KEYS[2], 'reader') or 0)
    if waits <= now then
        redis.call('zrem', KEYS[2], 'need') -- of those who have gone
    end
    -- Each change wakes all who wait: so not one for each of them.
    if waits < now + ARGV[2] * 3 / 4 then
        local function keep()
            redis.call('pexpire', KEYS[2], math.max(redis.call('pttl', KEYS[2]), ARGV[2]))
        end
        keep() -- without the rights to that a gate would be left that never expires
        redis.call('zadd', KEYS[2], now + ARGV[2], 'reader')
        keep()
    end
    redis.call('zadd', KEYS[2], 'gt', ARGV[3], 'need')
end
redis.call('zcard', KEYS[2]) -- so that the next change is heard of
local who = redis.call('mget', KEYS[1])[1] or writer and 'WRITER' or ''
return redis.status_reply(string.format('HELD %.0f %.0f ', left, fence) .. who:sub(1, 8))
