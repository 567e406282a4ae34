-- SPDX-License-Identifier: BSL-1.0
-- Renews readers and permits, and writers that may become readers, only while they are ours. With kind r an exclusive owner
-- becomes a reader in the same step, and calls the readers in the queue (docs/protocol.md). KEYS: the lock, its queue; with a fence also the fence and the node's marker. ARGV:
-- kind (x writer, r reader, p permits), nonce, milliseconds, permits. With a fence [5] to [8]: its milliseconds; token; for permits
-- "raise" to set the fences alone; the marker as it was on connecting (empty: any). A lower fence is set to the token. A higher
-- fence of permits or a writer says that others came after us; of readers it may come from another reader.
-- Returns 1: renewed. 2: renewed, and a fence was gone. 0: not ours. "STRANGER": another node than expected. An error: the
-- fence is no number of ours. A full server renews, too, because the first write needs no memory, unless a fence is behind.
-- rules Q20, S6, S12, S16 and P5
local wants, nonce, milliseconds = ARGV[1], ARGV[2], tonumber(ARGV[3])
-- with holding.lua
-- with taking.lua
local ends = now + milliseconds
local fence, token = nil, tonumber(ARGV[6])
if KEYS[3] then
    -- with fence.lua
    local refused
    refused, fence = see_fence(wants, ARGV[8])
    if refused then
        return refused
    end
end
if wants ~= 'p' then
    local was_exclusive = kind == 'string'
    local ours = was_exclusive and redis.call('mget', KEYS[1])[1] == nonce
        or wants == 'r' and kind == 'zset' and tonumber(redis.call('zscore', KEYS[1], nonce) or 0) > now
    if not ours or wants == 'x' and fence and fence > token then
        return 0
    elseif fence and fence < token then
        redis.call('set', KEYS[3], token, 'px', ARGV[5])
    elseif fence then
        redis.call('pexpire', KEYS[3], ARGV[5])
    end
    if wants == 'x' then
        redis.call('pexpire', KEYS[1], milliseconds)
        redis.call('mget', KEYS[1]) -- for client tracking, as in extend.lua
        return 1
    end
    redis.call('pexpireat', KEYS[1], math.max(last_end, ends))
    take_as_readers({nonce}, milliseconds)
    if was_exclusive then
        pcall(function() -- without the right to call readers, nobody is called
            -- with queue.lua
            call_readers() -- names no previous owner: our nonce is not given up
        end)
    end
    return 1
end
-- with permits.lua
-- with permits_of.lua
local permits, answer = words(ARGV[4]), 1
local function are_ours()
    local seen = redis.call('hmget', KEYS[1], 'next', unpack(permits))
    if not learn_next(seen[1]) then
        return false
    end
    for i = 1, #permits do
        local value = seen[i + 1]
        if not value or value:sub(1, 32) ~= nonce or end_of(value) <= now then
            return false
        end
        is_behind = is_behind or end_of(value) <= next_end
    end
    return true
end
if kind ~= 'hash' or not are_ours() then
    return 0
end
if fence then
    -- with fence.lua
    local highest, all = highest_fence(permits)
    if not highest then
        return unusable_fence()
    elseif highest > token then
        return 0
    end
    redis.call('pexpire', KEYS[3], ARGV[5])
    set_fences(permits, token, ARGV[5])
    if ARGV[7] == 'raise' then
        return 1
    end
    answer = all and 1 or 2
end
local write = permits_write(nonce, ends, permits)
if lives_until(ends) then
    redis.call('hdel', KEYS[1], '') -- the first write, which needs no memory (rule K9)
else
    redis.call('pexpireat', KEYS[1], ends)
end
redis.call(unpack(write))
return answer
