// SPDX-License-Identifier: BSL-1.0
#include "world/lua.hpp"

#include "core/memory.hpp"
#include "world/reply.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <new>
#include <utility>

extern "C" {
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
}

namespace redlock::world {

/// A C function of Lua that fails ends by longjmp, which destroys no object. Therefore objects with a destructor are
/// members of this class, and no such function has any. No exception passes through Lua.
class lua::machine {
public:
    machine();
    std::string run(script const&, executor const&);

private:
    struct closer {
        void operator()(lua_State* some) const { lua_close(some); }
    };

    static int body(lua_State*);
    static int call(lua_State* l) { return execute(l, true); }
    static int pcall(lua_State* l) { return execute(l, false); }
    static int protected_call(lua_State*);
    static int status_reply(lua_State*);
    static int error_reply(lua_State*);
    static int explain(lua_State*);
    static int no_such_global(lua_State*);
    static int no_new_global(lua_State*);
    static void stop(lua_State* l, lua_Debug*) { luaL_error(l, "the script runs for too long"); }

    static machine& of(lua_State* l)
    {
        return *static_cast<machine*>(lua_touserdata(l, lua_upvalueindex(1)));
    }
    static int execute(lua_State*, bool raises);
    static void push_error(lua_State*, char const* text, std::size_t size);
    static void open(lua_State*);

    void set_global(char const* name, std::span<std::string const> values);
    bool load();
    bool take_words();
    void ask() noexcept;
    void push_reply();
    std::string_view line_of_reply();
    void say(std::string_view bytes) noexcept;
    void say_line(std::string_view sign, std::string_view text);
    void say_value();
    void say_table();
    void say_error();

    std::unique_ptr<lua_State, closer> state_{luaL_newstate()};
    script const* script_ = nullptr;
    executor const* executor_ = nullptr;
    std::vector<std::string> words_; ///< command that is executed
    std::string reply_;              ///< to it
    std::size_t read_ = 0;           ///< bytes of it that Lua has
    std::string said_;               ///< by the script
    bool no_memory_ = false;
};

namespace {

/// Libraries of Lua that a script may use, as in Redis: without chance, files and output.
constexpr std::array libraries{luaL_Reg{"", luaopen_base}, luaL_Reg{LUA_TABLIBNAME, luaopen_table},
                               luaL_Reg{LUA_STRLIBNAME, luaopen_string},
                               luaL_Reg{LUA_MATHLIBNAME, luaopen_math}};
constexpr std::array forbidden{"print",  "dofile",   "loadfile",       "load",    "require",
                               "module", "newproxy", "collectgarbage", "getfenv", "setfenv"};

constexpr int most_instructions = 50'000'000;

/// \throws std::bad_alloc
void check(int result)
{
    if (result != 0)
        throw std::bad_alloc();
}

} // namespace

lua::machine::machine()
{
    if (!state_)
        throw std::bad_alloc();
    check(lua_cpcall(
        state_.get(),
        [](lua_State* l) {
            open(l);
            auto* const self = lua_touserdata(l, 1);
            lua_newtable(l);
            for (auto const& [name, function] :
                 {luaL_Reg{"call", call}, luaL_Reg{"pcall", pcall}, luaL_Reg{"status_reply", status_reply},
                  luaL_Reg{"error_reply", error_reply}}) {
                lua_pushlightuserdata(l, self);
                lua_pushcclosure(l, function, 1);
                lua_setfield(l, -2, name);
            }
            lua_setglobal(l, "redis");
            lua_newtable(l); // for globals: an unknown name is an error
            lua_pushcfunction(l, no_such_global);
            lua_setfield(l, -2, "__index");
            lua_pushcfunction(l, no_new_global);
            lua_setfield(l, -2, "__newindex");
            lua_setmetatable(l, LUA_GLOBALSINDEX);
            return 0;
        },
        this));
}

void lua::machine::open(lua_State* l)
{
    for (auto const& [name, library] : libraries) {
        lua_pushcfunction(l, library);
        lua_pushstring(l, name);
        lua_call(l, 1, 0);
    }
    for (char const* const name : forbidden) {
        lua_pushnil(l);
        lua_setglobal(l, name);
    }
    lua_pushcfunction(l, protected_call);
    lua_setglobal(l, "pcall");
    lua_getglobal(l, LUA_MATHLIBNAME);
    for (char const* const name : {"random", "randomseed"}) {
        lua_pushnil(l);
        lua_setfield(l, -2, name);
    }
    lua_pop(l, 1);
}

std::string lua::machine::run(script const& what, executor const& commands)
{
    script_ = &what;
    executor_ = &commands;
    said_.clear();
    no_memory_ = false;
    int const result = lua_cpcall(state_.get(), body, this);
    lua_settop(state_.get(), 0);
    if (result != 0 || no_memory_)
        throw std::bad_alloc();
    return std::move(said_);
}

int lua::machine::body(lua_State* l)
{
    machine& self = *static_cast<machine*>(lua_touserdata(l, 1));
    self.set_global("KEYS", self.script_->keys);
    self.set_global("ARGV", self.script_->arguments);
    lua_pushcfunction(l, explain);
    if (!self.load()) {
        self.say("-ERR Error compiling script (new function): ");
        self.say(lua_tostring(l, -1));
        self.say("\r\n");
        return 0;
    }
    lua_sethook(l, stop, LUA_MASKCOUNT, most_instructions);
    int const result = lua_pcall(l, 0, 1, -2);
    lua_sethook(l, nullptr, 0, 0);
    if (result == LUA_ERRMEM)
        self.no_memory_ = true;
    else if (result != 0)
        self.say_error();
    else
        self.say_value();
    return 0;
}

void lua::machine::set_global(char const* name, std::span<std::string const> values)
{
    lua_State* const l = state_.get();
    lua_pushstring(l, name);
    lua_createtable(l, static_cast<int>(values.size()), 0);
    int at = 0;
    for (std::string const& value : values) {
        lua_pushlstring(l, value.data(), value.size());
        lua_rawseti(l, -2, ++at);
    }
    lua_rawset(l, LUA_GLOBALSINDEX);
}

/// Compiles the script once. False: it is no Lua, and the reason is on the stack.
bool lua::machine::load()
{
    lua_State* const l = state_.get();
    lua_pushlstring(l, script_->sha1.data(), script_->sha1.size());
    lua_rawget(l, LUA_REGISTRYINDEX);
    if (!lua_isnil(l, -1))
        return true;
    lua_pop(l, 1);
    if (luaL_loadbuffer(l, script_->text.data(), script_->text.size(), "@user_script") != 0)
        return false;
    lua_pushlstring(l, script_->sha1.data(), script_->sha1.size());
    lua_pushvalue(l, -2);
    lua_rawset(l, LUA_REGISTRYINDEX);
    return true;
}

int lua::machine::no_such_global(lua_State* l)
{
    return luaL_error(l, "Script attempted to access nonexistent global variable '%s'", lua_tostring(l, 2));
}

int lua::machine::no_new_global(lua_State* l)
{
    return luaL_error(l, "Attempt to modify a readonly table");
}

int lua::machine::execute(lua_State* l, bool raises)
{
    machine& self = of(l);
    self.ask();
    if (self.no_memory_)
        return luaL_error(l, "not enough memory");
    self.read_ = 0;
    bool const failed = self.reply_.starts_with('-');
    self.push_reply();
    return failed && raises ? lua_error(l) : 1;
}

void lua::machine::ask() noexcept
{
    no_memory_ |= !core::if_memory_allows([this] {
        if (lua_gettop(state_.get()) == 0)
            reply_ = reply::error("ERR Please specify at least one argument for this redis lib call");
        else if (!take_words())
            reply_ = reply::error("ERR Lua redis lib command arguments must be strings or integers");
        else
            reply_ = (*executor_)(words_);
    });
}

bool lua::machine::take_words()
{
    lua_State* const l = state_.get();
    words_.resize(static_cast<std::size_t>(lua_gettop(l)));
    for (int i = 1; std::string & word : words_) {
        if (lua_type(l, i) == LUA_TNUMBER) {
            std::array<char, 40> text{};
            std::snprintf(text.data(), text.size(), "%.17g", lua_tonumber(l, i));
            word = text.data();
        } else if (lua_type(l, i) == LUA_TSTRING) {
            std::size_t size = 0;
            char const* const text = lua_tolstring(l, i, &size);
            word.assign(text, size);
        } else {
            return false;
        }
        ++i;
    }
    return true;
}

std::string_view lua::machine::line_of_reply()
{
    auto const rest = std::string_view(reply_).substr(read_);
    auto const line = rest.substr(0, rest.find("\r\n"));
    read_ += line.size() + 2;
    return line;
}

/// Pushes nil as false, a status as a table with `ok`, and an error as one with `err`.
void lua::machine::push_reply()
{
    lua_State* const l = state_.get();
    luaL_checkstack(l, 4, "a reply is too deep");
    auto const line = line_of_reply();
    auto const text = line.substr(1);
    std::int64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    switch (line.front()) {
    case '+':
        lua_createtable(l, 0, 1);
        lua_pushlstring(l, text.data(), text.size());
        return lua_setfield(l, -2, "ok");
    case '-': return push_error(l, text.data(), text.size());
    case ':': return lua_pushnumber(l, static_cast<lua_Number>(number));
    default: break;
    }
    if (number < 0)
        return lua_pushboolean(l, 0);
    if (line.front() == '$') {
        lua_pushlstring(l, reply_.data() + read_, static_cast<std::size_t>(number));
        read_ += static_cast<std::size_t>(number) + 2;
        return;
    }
    lua_createtable(l, static_cast<int>(number), 0);
    for (int i = 1; i <= number; ++i) {
        push_reply();
        lua_rawseti(l, -2, i);
    }
}

void lua::machine::push_error(lua_State* l, char const* text, std::size_t size)
{
    lua_createtable(l, 0, 1);
    lua_pushlstring(l, text, size);
    lua_setfield(l, -2, "err");
}

/// As Lua's own `pcall`, but gives only the text of an error.
int lua::machine::protected_call(lua_State* l)
{
    luaL_checkany(l, 1);
    bool const failed = lua_pcall(l, lua_gettop(l) - 1, LUA_MULTRET, 0) != 0;
    if (failed && lua_istable(l, -1)) {
        lua_getfield(l, -1, "err");
        lua_isstring(l, -1) != 0 ? lua_replace(l, -2) : lua_pop(l, 1);
    }
    lua_pushboolean(l, failed ? 0 : 1);
    lua_insert(l, 1);
    return lua_gettop(l);
}

int lua::machine::status_reply(lua_State* l)
{
    luaL_checktype(l, 1, LUA_TSTRING);
    lua_createtable(l, 0, 1);
    lua_pushvalue(l, 1);
    lua_setfield(l, -2, "ok");
    return 1;
}

int lua::machine::error_reply(lua_State* l)
{
    std::size_t size = 0;
    char const* const text = luaL_checklstring(l, 1, &size);
    push_error(l, text, size);
    return 1;
}

/// Adds to an error the line of the script at which it happened, not that of a function which the script called.
int lua::machine::explain(lua_State* l)
{
    if (lua_type(l, 1) != LUA_TTABLE) {
        lua_getglobal(l, "tostring");
        lua_pushvalue(l, 1);
        lua_call(l, 1, 1);
        lua_pushfstring(l, "ERR %s", lua_tostring(l, -1));
        push_error(l, lua_tostring(l, -1), lua_objlen(l, -1));
        lua_replace(l, 1);
        lua_settop(l, 1);
    }
    lua_Debug where{};
    for (int level = 1; level <= 2 && lua_getstack(l, level, &where) != 0; ++level) {
        lua_getinfo(l, "Sl", &where);
        if (where.currentline < 0)
            continue;
        lua_pushinteger(l, where.currentline);
        lua_setfield(l, 1, "line");
        break;
    }
    return 1;
}

void lua::machine::say(std::string_view bytes) noexcept
{
    no_memory_ |= !core::if_memory_allows([&] { said_ += bytes; });
}

/// "-WRONGTYPE Operation ... script: <its hash>, on @user_script:4."
void lua::machine::say_error()
{
    lua_State* const l = state_.get();
    lua_getfield(l, -1, "err");
    lua_getfield(l, -2, "line");
    char const* const words = lua_isstring(l, -2) ? lua_tostring(l, -2) : "ERR unknown error";
    if (!lua_isnumber(l, -1))
        return say_line("-", words);
    lua_pushlstring(l, script_->sha1.data(), script_->sha1.size());
    lua_pushfstring(l, "%s script: %s, on @user_script:%s.", words, lua_tostring(l, -1), lua_tostring(l, -2));
    say_line("-", lua_tostring(l, -1));
}

/// Replaces line ends in the text by spaces.
void lua::machine::say_line(std::string_view sign, std::string_view text)
{
    say(sign);
    auto const begin = said_.size();
    say(text);
    std::ranges::replace_if(
        said_.begin() + static_cast<std::ptrdiff_t>(std::min(begin, said_.size())), said_.end(),
        [](char c) { return c == '\r' || c == '\n'; }, ' ');
    say("\r\n");
}

/// Converts the value on top of the stack. False becomes nil, and a number its whole part.
void lua::machine::say_value()
{
    lua_State* const l = state_.get();
    std::array<char, 40> head{};
    switch (lua_type(l, -1)) {
    case LUA_TSTRING: {
        std::size_t size = 0;
        char const* const text = lua_tolstring(l, -1, &size);
        std::snprintf(head.data(), head.size(), "$%zu\r\n", size);
        say(head.data());
        say({text, size});
        return say("\r\n");
    }
    case LUA_TNUMBER:
        std::snprintf(head.data(), head.size(), ":%lld\r\n", static_cast<long long>(lua_tonumber(l, -1)));
        return say(head.data());
    case LUA_TBOOLEAN: return say(lua_toboolean(l, -1) != 0 ? ":1\r\n" : script_->nil);
    case LUA_TTABLE: return say_table();
    default: return say(script_->nil);
    }
}

/// Converts an error, a status, or an array up to the first nil.
void lua::machine::say_table()
{
    lua_State* const l = state_.get();
    luaL_checkstack(l, 4, "reached lua stack limit");
    for (auto const& [name, sign] : {std::pair{"err", "-"}, std::pair{"ok", "+"}}) {
        lua_pushstring(l, name);
        lua_rawget(l, -2);
        bool const found = lua_type(l, -1) == LUA_TSTRING;
        if (found) {
            say_line(sign, lua_tostring(l, -1));
        }
        lua_pop(l, 1);
        if (found)
            return;
    }
    int size = 0;
    for (bool more = true; more; size += more ? 1 : 0) {
        lua_rawgeti(l, -1, size + 1);
        more = !lua_isnil(l, -1);
        lua_pop(l, 1);
    }
    std::array<char, 40> head{};
    std::snprintf(head.data(), head.size(), "*%d\r\n", size);
    say(head.data());
    for (int i = 1; i <= size; ++i) {
        lua_rawgeti(l, -1, i);
        say_value();
        lua_pop(l, 1);
    }
}

lua::lua() : machine_(std::make_unique<machine>()) {}
lua::~lua() = default;

std::string lua::run(script const& what, executor const& commands)
{
    return machine_->run(what, commands);
}

} // namespace redlock::world
