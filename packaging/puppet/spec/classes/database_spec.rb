# frozen_string_literal: true

require 'spec_helper'

describe 'pmcheck::database' do
  let(:facts) do
    DEBIAN.merge(pmcheck_tls: { 'certificate' => '/ssl/c.pem', 'key' => '/ssl/k.pem', 'ca' => '/ssl/ca.pem', 'crl' => '/ssl/crl.pem' })
  end
  let(:pre_condition) { "class { 'postgresql::globals': version => '15' }" }
  let(:params) { { masters: ['puppet1.example.com', '/puppet\d+\.example\.com/'] } }

  it { is_expected.to compile.with_all_deps }

  context 'on RedHat' do
    # Debian's puppetlabs/postgresql 6.7 does not know RHEL 9.
    let(:facts) { super().merge(facts_of('RedHat', 'RedHat', '8.10')) }

    it { is_expected.to compile.with_all_deps }
  end

  it 'takes a certificate over TLS, and nothing else' do
    ['0.0.0.0/0', '::/0'].each do |network|
      is_expected.to contain_postgresql__server__pg_hba_rule("pmcheck from #{network}")
        .with(type: 'hostssl', database: 'pmcheck', user: 'pmcheck', address: network,
              auth_method: 'cert', auth_option: 'map=pmcheck')
    end
    %w[pmcheck pmcheck_admin].each do |role|
      is_expected.to contain_postgresql__server__role(role).with(password_hash: false, superuser: false)
                                                           .that_requires('Class[postgresql::server]')
    end
  end

  it 'is asked before the rules of the site' do
    ours = catalogue.resource('Concat::Fragment', 'pg_hba_rule_pmcheck from 0.0.0.0/0')[:order]
    expect(ours).to be >= '004'
    expect(ours).to be < '010'
  end

  it 'lets masters in, by name or by an anchored expression' do
    is_expected.to contain_postgresql__server__pg_ident_rule('puppet1.example.com is pmcheck')
      .with(map_name: 'pmcheck', system_username: 'puppet1.example.com', database_username: 'pmcheck')
    is_expected.to contain_postgresql__server__pg_ident_rule('/puppet\d+\.example\.com/ is pmcheck')
      .with_system_username('"/^(?:puppet\d+\.example\.com)$"')
    is_expected.to have_postgresql__server__pg_ident_rule_resource_count(2)
  end

  it 'runs the schema unless that version is there' do
    is_expected.to contain_exec('pmcheck: schema')
      .with(user: 'postgres', unless: %r{-ge \d+$}, command: %r{ON_ERROR_STOP=1 -f /etc/pmcheck-database/schema\.sql$})
      .that_requires(['Postgresql::Server::Database[pmcheck]', 'Postgresql::Server::Role[pmcheck_admin]'])
  end

  it 'has PostgreSQL use copies of the host certificate' do
    { 'cert' => '/ssl/c.pem', 'key' => '/ssl/k.pem', 'ca' => '/ssl/ca.pem', 'crl' => '/ssl/crl.pem' }.each do |name, source|
      copy = "/etc/pmcheck-database/ssl_#{name}_file.pem"
      is_expected.to contain_file(copy)
        .with(source: source, owner: 'root', group: 'postgres', mode: '0640')
        .that_notifies('Class[postgresql::server::reload]')
      is_expected.to contain_postgresql__server__config_entry("ssl_#{name}_file").with_value(copy).that_requires("File[#{copy}]")
    end
    is_expected.to contain_postgresql__server__config_entry('ssl').with_value('on')
  end

  # Puppet stores a diff in the report, and the file before the change in a filebucket.
  it 'shows the key to nobody' do
    is_expected.to contain_file('/etc/pmcheck-database/ssl_key_file.pem').with(show_diff: false, backup: false)
  end

  context 'with networks and other files' do
    let(:params) do
      super().merge(allow: ['192.0.2.0/28'], tls_certificate: '/c', tls_key: '/k', tls_ca: '/ca', tls_crl: '/crl')
    end

    it { is_expected.to contain_postgresql__server__pg_hba_rule('pmcheck from 192.0.2.0/28') }
    it { is_expected.not_to contain_postgresql__server__pg_hba_rule('pmcheck from ::/0') }

    it 'copies those' do
      { 'cert' => '/c', 'key' => '/k', 'ca' => '/ca', 'crl' => '/crl' }.each do |name, source|
        is_expected.to contain_file("/etc/pmcheck-database/ssl_#{name}_file.pem").with_source(source)
      end
    end
  end

  context 'with the TLS of something else' do
    let(:params) { super().merge(manage_tls: false) }

    it { is_expected.not_to contain_postgresql__server__config_entry('ssl') }
    it { is_expected.not_to contain_file('/etc/pmcheck-database/ssl_key_file.pem') }
  end

  { masters: [[], 'puppet1', ['Puppet1'], ['a b'], ['a' * 59], ['/puppet'], ['//'], ["/a\nb/"], ['/a"b/']],
    allow: [[], ['192.0.2.1'], ['all']], manage_tls: ['yes'], tls_certificate: ['c.pem'], tls_key: ['k'], tls_ca: [''], tls_crl: [true], }
    .each do |name, values|
    values.each do |value|
      context "with #{name} #{value.inspect}" do
        let(:params) { super().merge(name => value) }

        it { is_expected.to compile.and_raise_error(%r{#{name}}) }
      end
    end
  end
end
